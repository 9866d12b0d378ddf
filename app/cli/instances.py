"""Every instance on disk, whether it is awake or not, and whether its agent is still registered or not."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.runtime.durable.alarms import ALARMS, Alarms, Known
from app.runtime.durable.ledger import Ledger, Resealed
from app.runtime.durable.schedules import JOBS
from app.runtime.durable.sealing import Cipher
from app.runtime.durable.storage import Row, SqliteStorage, file_of
from app.runtime.principal import Principal


@dataclass(frozen=True, slots=True)
class Instances:
    """What is in the agents' folder. Reads beside the host; writes only where it says so."""

    folder: Path

    def known(self) -> list[Known]:
        """Every instance that ever had an alarm, by name."""
        if not (self.folder / ALARMS).exists():
            return []
        alarms = Alarms(self.folder / ALARMS)
        try:
            return alarms.known()
        finally:
            alarms.close()

    def strays(self) -> list[str]:
        """Files of instances whose names are lost with their alarms: what they hold opens no more."""
        named = {file_of(one.agent, one.instance) for one in self.known()}
        return sorted({path.relative_to(self.folder).as_posix() for path in self.folder.glob("*/*.sqlite")} - named)

    def schedules(self, agent: str, instance: str) -> list[Row]:
        return self._read(agent, instance, JOBS)

    def paused(self, agent: str, instance: str) -> list[str]:
        """The names of the jobs that stand until somebody takes their pause back."""
        return [
            f"{job['callback']} {job['key']}".strip() for job in self.schedules(agent, instance) if job["paused_at"]
        ]

    def parked(self, agent: str, instance: str) -> list[Row]:
        """The calls that wait, without their arguments, which are sealed."""
        query = "SELECT request_id, tool, subject, checks, next_check_at FROM ledger ORDER BY rowid"
        return self._read(agent, instance, query)

    def runs(self, agent: str, instance: str, number: int | None = None) -> list[Row]:
        """The kept runs, newest first, each with the report it ended with; or one of them, with its details too."""
        kept = "SELECT id, started_at, finished_at, taken, report FROM runs ORDER BY id DESC"
        if number is not None:
            kept = f"SELECT * FROM runs LEFT JOIN run_details ON run_id = id WHERE id = {number:d}"  # noqa: S608 (a number)
        rows = self._read(agent, instance, kept)
        parsed = ("taken", "report", "details")
        return [row | {name: _json(row[name]) for name in parsed if name in row} for row in rows]

    async def reseal(self, agent: str, instance: str, cipher: Cipher) -> Resealed:
        """Write the instance's ledger anew under the first key. No host may run."""
        if not (self.folder / file_of(agent, instance)).exists():
            return Resealed()
        storage = SqliteStorage(self.folder / file_of(agent, instance))
        try:
            return await Ledger(storage, cipher, Principal.agent(agent, instance).key, lambda _: None).reseal()
        finally:
            storage.close()

    def _read(self, agent: str, instance: str, query: str) -> list[Row]:
        path = self.folder / file_of(agent, instance)
        if not path.exists():
            return []
        storage = SqliteStorage(path)
        try:
            return storage.sql(query)
        finally:
            storage.close()


def _json(text: str | None) -> Any:
    return json.loads(text) if text else None
