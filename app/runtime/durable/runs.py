"""Runs of a long job, such as a sweep: written first, so that a turn repeated after a crash continues the same run."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.runtime.durable.storage import Storage
from app.runtime.instants import plain, to_text
from app.runtime.steps import Step, reached

KEPT = 100  # finished runs


@dataclass(frozen=True, slots=True)
class Run:
    """`taken` names what this run has begun to deal with, in order. It outlives a crash, and so does the run's cap."""

    id: int
    started_at: str
    taken: tuple[int, ...]


class Runs:
    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def begin(self, now: datetime) -> Run:
        """A new run, or the one that a crash has left unfinished."""
        open_runs = self._storage.sql("SELECT id, started_at, taken FROM runs WHERE finished_at IS NULL")
        if not open_runs:
            query = "INSERT INTO runs (started_at, taken) VALUES (?, '[]') RETURNING id, started_at, taken"
            open_runs = self._storage.sql(query, to_text(now))
            reached(Step.RUN)
        row = open_runs[0]
        return Run(row["id"], row["started_at"], tuple(json.loads(row["taken"])))

    def take(self, run: Run, items: tuple[int, ...]) -> None:
        self._storage.sql("UPDATE runs SET taken = ? WHERE id = ?", json.dumps(items), run.id)
        reached(Step.RUN)

    def finish(self, run: Run, report: Any, now: datetime) -> None:
        self._storage.sql(
            "UPDATE runs SET finished_at = ?, report = ? WHERE id = ?", to_text(now), json.dumps(plain(report)), run.id
        )
        reached(Step.RUN)
        self._storage.sql("DELETE FROM runs WHERE id <= ?", run.id - KEPT)
