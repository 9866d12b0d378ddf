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
            holder = _written(file)
            os.close(file)
            return holder
        self._file = file
        self.announce("")
        return None

    def holder(self) -> Holder | None:
        """Who holds it, if anybody does. Takes nothing, and changes nothing."""
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return _written(file)
        else:
            return None
        finally:
            os.close(file)

    def announce(self, address: str) -> None:
        """Write down where the holder serves, for those who come too late."""
        if self._file is not None:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, msgspec.json.encode(Holder(os.getpid(), address)), 0)

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _written(file: int) -> Holder:
    text = os.read(file, 1000)
    return msgspec.json.decode(text, type=Holder) if text else Holder(0)
