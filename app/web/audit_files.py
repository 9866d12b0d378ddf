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

    Nothing is synced to the disk: the database, which is, holds every answer and effect.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, entry: Entry) -> None:
        line = msgspec.json.encode(entry) + b"\n"
        file = self._open(f"{entry.at[:10]}.jsonl")
        try:
            end = os.fstat(file).st_size
            torn = end > 0 and os.pread(file, 1, end - 1) != b"\n"  # a full disk, once, in the middle of a line
            written = os.write(file, b"\n" + line if torn else line)
        finally:
            os.close(file)
        if written < len(line) + torn:
            raise OSError("the line was cut off: the disk is full")

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
