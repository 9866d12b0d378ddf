"""The audit trail of one machine: a file a day. What stands in it, and when, is `runtime/tools/audit.py`."""

import os
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from app.runtime.instants import to_text
from app.runtime.tools.audit import Entry

DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].jsonl"
DAYS = 90  # how long a day's file is kept


class FileSink:
    """A private file a day (UTC), a JSON object a line. Each line is one append, so two processes may share it.

    The day's file stays open: to open it costs more than all the rest of a line. Nothing is synced to the disk: the
    database, which is, holds every answer and effect.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._opened: tuple[str, int] | None = None  # the day, and its file

    def write(self, entry: Entry) -> None:
        line = msgspec.json.encode(entry) + b"\n"
        file, end = self._file(entry.at[:10])
        torn = end > 0 and os.pread(file, 1, end - 1) != b"\n"  # a full disk, once, in the middle of a line
        written = os.write(file, b"\n" + line if torn else line)
        if written < len(line) + torn:
            raise OSError("the line was cut off: the disk is full")

    def close(self) -> None:
        if self._opened:
            os.close(self._opened[1])
            self._opened = None

    def _file(self, day: str) -> tuple[int, int]:
        """The day's file, and where it ends. One that somebody has deleted begins anew."""
        if self._opened and self._opened[0] == day:
            found = os.fstat(self._opened[1])
            if found.st_nlink:
                return self._opened[1], found.st_size
        self.close()
        file = self._open(f"{day}.jsonl")
        self._opened = day, file
        return file, os.fstat(file).st_size

    def _open(self, name: str) -> int:
        how = os.O_RDWR | os.O_APPEND | os.O_CREAT
        try:
            return os.open(self._folder / name, how, 0o600)
        except FileNotFoundError:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self._folder / name, how, 0o600)

    def days(self) -> list[Path]:
        """The files, oldest first."""
        return sorted(self._folder.glob(DAY))

    def prune(self, now: datetime) -> int:
        """Delete the files of days longer ago than DAYS. Returns how many."""
        first = to_text(now - timedelta(days=DAYS))[:10]
        old = [path for path in self.days() if path.stem < first]
        for path in old:
            path.unlink(missing_ok=True)
        return len(old)
