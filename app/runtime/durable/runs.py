"""Runs of a long job, such as a sweep: written first, so that a turn repeated after a crash continues the same run."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from app.runtime.durable.storage import Storage
from app.runtime.instants import plain, to_text
from app.runtime.steps import Step, reached

R = TypeVar("R")
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

    def taken(self) -> tuple[int, ...]:
        """What the run that a crash has left unfinished has taken; nothing where there is none."""
        rows = self._storage.sql("SELECT taken FROM runs WHERE finished_at IS NULL")
        return tuple(json.loads(rows[0]["taken"])) if rows else ()

    def take(self, run: Run, items: tuple[int, ...]) -> None:
        self._storage.sql("UPDATE runs SET taken = ? WHERE id = ?", json.dumps(items), run.id)
        reached(Step.RUN)

    def latest(self) -> Any:
        """The report of the last run that finished; None when none has."""
        rows = self._storage.sql("SELECT report FROM runs WHERE finished_at IS NOT NULL ORDER BY id DESC LIMIT 1")
        return json.loads(rows[0]["report"]) if rows else None

    def kept(self, kind: type[R]) -> dict[int, R]:
        """The reports of the runs that finished, newest first, by id; of each only what `kind` has fields for."""
        rows = self._storage.sql("SELECT id, report FROM runs WHERE finished_at IS NOT NULL ORDER BY id DESC")
        return {row["id"]: msgspec.json.decode(row["report"], type=kind) for row in rows}

    def details(self, number: int | None = None) -> Any:
        """The details of that run, or of the last that finished; None when there are none."""
        query = "SELECT details FROM run_details WHERE run_id = coalesce(?, (SELECT max(run_id) FROM run_details))"
        rows = self._storage.sql(query, number)
        return json.loads(rows[0]["details"]) if rows else None

    def finish(self, run: Run, report: Any, now: datetime, details: Any = None) -> None:
        """`report` is the sum of it, read often; `details` is the rest, kept as long."""
        told, rest = json.dumps(plain(report)), json.dumps(plain(details))
        self._storage.atomically(lambda: self._finish(run, told, rest, to_text(now)))
        reached(Step.RUN)

    def _finish(self, run: Run, report: str, details: str, at: str) -> None:
        self._storage.sql("UPDATE runs SET finished_at = ?, report = ? WHERE id = ?", at, report, run.id)
        self._storage.sql("INSERT OR REPLACE INTO run_details (run_id, details) VALUES (?, ?)", run.id, details)
        for table, column in (("runs", "id"), ("run_details", "run_id")):
            self._storage.sql(f"DELETE FROM {table} WHERE {column} <= ?", run.id - KEPT)  # noqa: S608 (our own names)
