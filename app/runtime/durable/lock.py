"""One process holds the host of a data directory. The lock dies with the process, whatever kills it."""

import fcntl
import os
from pathlib import Path


class HostLock:
    """`flock` on a file that names its holder. Taken by the process that runs the host, and not inherited."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def take(self) -> int | None:
        """None when the lock is ours now, else the pid of the process that holds it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(file, 20).decode()
            os.close(file)
            return int(holder) if holder.strip().isdigit() else 0
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        self._file = file
        return None

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
