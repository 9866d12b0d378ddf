"""One process holds the host of a data directory. The lock dies with the process, whatever kills it."""

import fcntl
import os
from pathlib import Path

import msgspec


class Holder(msgspec.Struct):
    """Who holds it. `address` is empty until the holder serves."""

    pid: int
    address: str = ""


class HostLock:
    """`flock` on a file that names its holder. Taken by the process that runs the host, and not inherited."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def take(self) -> Holder | None:
        """None when the lock is ours now, else who holds it."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            written = os.read(file, 1000)
            os.close(file)
            return msgspec.json.decode(written, type=Holder) if written else Holder(0)
        self._file = file
        self.announce("")
        return None

    def announce(self, address: str) -> None:
        """Write down where the holder serves, for those who come too late."""
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, msgspec.json.encode(Holder(os.getpid(), address)), 0)

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
