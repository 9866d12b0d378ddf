"""The books of an installation, read from its files without any code of the product: what may never be, and is it?"""

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

Row = dict[str, Any]
INSTANCES = ("main", "eu")
NEVER_AGAIN = "used", "rejected", "changed"  # a call that ended so is not put to a person a second time
COOL_DOWN = timedelta(hours=24)
REMEMBERED = 20  # outcomes an agent keeps
CAP = 10  # questions of a sweep


@dataclass(frozen=True)
class Books:
    """Everything on disk at a moment."""

    approvals: list[Row]
    events: list[Row]
    tickets: list[Row]
    alarms: dict[str, str | None]
    ledgers: dict[str, list[Row]]
    states: dict[str, Row]
    reports: list[Row]

    @property
    def asked(self) -> list[Row]:
        """All but the tombstones of questions that were never put."""
        return [row for row in self.approvals if row["fingerprint"]]

    def closed(self, request_id: str) -> int:
        return sum(event["kind"] == "closed" and event["request_id"] == request_id for event in self.events)


def read(folder: Path) -> Books:
    private = {name: path for name in INSTANCES if (path := _instance_file(folder, name)).exists()}
    states = {name: _rows(path, "SELECT value FROM state") for name, path in private.items()}
    runs = [run for path in private.values() for run in _rows(path, "SELECT report FROM runs WHERE report IS NOT NULL")]
    alarms = _rows(folder / "agents" / "alarms.sqlite", "SELECT instance, at FROM alarms")
    return Books(
        approvals=_rows(folder / "triager.sqlite", "SELECT * FROM approvals ORDER BY rowid"),
        events=_rows(folder / "triager.sqlite", "SELECT * FROM events ORDER BY id"),
        tickets=_rows(folder / "triager.sqlite", "SELECT * FROM tickets ORDER BY id"),
        alarms={row["instance"]: row["at"] for row in alarms},
        ledgers={name: _rows(path, "SELECT request_id, next_check_at FROM ledger") for name, path in private.items()},
        states={name: json.loads(rows[0]["value"]) if rows else {} for name, rows in states.items()},
        reports=[json.loads(run["report"]) for run in runs],
    )


def _instance_file(folder: Path, name: str) -> Path:
    digest = hashlib.sha256(f"triager\0{name}".encode()).hexdigest()
    return folder / "agents" / digest[:2] / f"{digest}.sqlite"


def _rows(path: Path, query: str) -> list[Row]:
    if not path.exists():
        return []
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in connection.execute(query)]
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):  # killed before the tables were made
            raise
        return []
    finally:
        connection.close()


@dataclass
class Journal:
    """What was seen at earlier moments and may not change: an answer, an end, an effect; and every call that waited."""

    facts: dict[tuple[str, str], Any] = field(default_factory=dict)
    waited: set[str] = field(default_factory=set)

    def changed(self, books: Books) -> Iterator[str]:
        self.waited |= {row["request_id"] for ledger in books.ledgers.values() for row in ledger}
        for row in books.approvals:
            for column in ("decision", "decided_by", "ended", "consumed_at", "claim_id"):
                if row[column] is not None:
                    yield from self._same((row["id"], column), row[column])
        for event in books.events:
            yield from self._same((str(event["id"]), "event"), (event["kind"], event["request_id"], event["at"]))

    def without_trace(self, books: Books) -> Iterator[str]:
        """Once nothing is due: calls that waited, and under whose id a question could still appear."""
        gone = self.waited - {row["id"] for row in books.approvals}
        yield from (
            f"lost: {request_id} waited, and is neither a question nor fenced off" for request_id in sorted(gone)
        )

    def _same(self, key: tuple[str, str], value: Any) -> Iterator[str]:
        if self.facts.setdefault(key, value) != value:
            yield f"lost: {key} was {self.facts[key]} and became {value}"


def at_any_moment(books: Books, *, armed: bool) -> Iterator[str]:
    """Violations of what holds between any two writes. `armed`: the process was not about to set its alarm."""
    for row in books.asked:
        effects, used = books.closed(row["id"]), row["ended"] == "used"
        if effects > 1:
            yield f"twice: {row['id']} closed its ticket {effects} times"
        if effects != used:
            yield f"apart: {row['id']} ended as {row['ended']} with {effects} effects"
        if effects and not (row["decision"] == "approved" and row["claim_id"]):
            yield f"unasked: {row['id']} closed its ticket without a spent yes"
        if (row["ended"] == "rejected") != (row["decision"] == "rejected"):
            yield f"lost: {row['id']} was answered {row['decision']} and ended as {row['ended']}"
        if row["ended"] is None and row["id"] not in _waiting(books, _instance(row)):
            yield f"lost: nothing waits for the end of {row['id']}"
    for name, ledger in books.ledgers.items():
        first = min((row["next_check_at"] for row in ledger), default=None)
        if armed and first and not (books.alarms.get(name) or "9") <= first:
            yield f"lost: a call waits until {first}, and {name} wakes at {books.alarms.get(name)}"
    yield from _asked_twice(books)
    yield from _sums(books)
    for ticket in books.tickets:
        changes = Counter(event["kind"] for event in books.events if event["subject"] == f"ticket:{ticket['id']}")
        if ticket["version"] != 1 + sum(changes[kind] for kind in ("closed", "edited", "reopened")):
            yield f"twice: ticket {ticket['id']} is at version {ticket['version']} after {dict(changes)}"


def at_rest(books: Books, now: datetime) -> Iterator[str]:
    """Violations of what holds once nothing is due any more."""
    settled = {name: list(state.get("settled", ())) for name, state in books.states.items()}
    for row in books.asked:
        told = [one for one in settled.get(_instance(row), ()) if one["request_id"] == row["id"]]
        if row["ended"] is None:
            if row["decision"] or row["expires_at"] <= _text(now):
                yield f"lost: {row['id']}, answered {row['decision']}, has no end"
            continue
        expected = {"used": ("approved", "ok")}.get(row["ended"], (row["ended"], None))
        heard = [(one["status"], "ok" if one["retried"] == "ok" else None) for one in told]
        if heard != [expected]:
            yield f"lost: {row['id']} ended as {expected}, and its agent heard {heard}"
        yield from _carried_out(row, books)
    for name, ledger in books.ledgers.items():
        pending = {row["id"] for row in books.asked if row["ended"] is None and _instance(row) == name}
        if {row["request_id"] for row in ledger} != pending:
            yield f"lost: the ledger of {name} holds {ledger}, and {pending} are pending"
    if len(books.asked) > REMEMBERED * len(books.ledgers):
        yield "the story is too long: its agent forgets outcomes"


def _carried_out(row: Row, books: Books) -> Iterator[str]:
    """What was answered was done, or could not be."""
    call, state = json.loads(row["input"]), books.states[_instance(row)]
    ticket = books.tickets[call["ticket_id"] - 1]
    if row["decision"] == "approved" and row["ended"] != "used":
        moved = row["ended"] == "cancelled" and ticket["version"] > call["version"]
        late = row["ended"] == "expired" and row["claim_id"] is None and row["use_by"] <= row["ended_at"]
        if not (moved or late):
            yield f"lost: the yes to {row['id']} ended as {row['ended']}, {row['ended_reason']}"
    if row["ended"] == "rejected" and str(call["ticket_id"]) not in state["declined"]:
        yield f"lost: the no to {row['id']} is not remembered"
    if row["ended"] == "expired" and _asked_between(books, row, row["ended_at"]):
        yield f"asked: again right after {row['id']} expired"


def _asked_between(books: Books, row: Row, since: str) -> bool:
    """Was its agent's question about the same ticket put again within the cool-down?"""
    until = _text(datetime.fromisoformat(since) + COOL_DOWN)
    same = (
        one for one in books.asked if (one["subject"], one["principal_key"]) == (row["subject"], row["principal_key"])
    )
    return any(since <= one["requested_at"] < until for one in same if one["id"] != row["id"])


def _asked_twice(books: Books) -> Iterator[str]:
    calls = Counter[tuple[str, str]]()
    for row in books.asked:
        done = "changed" if row["ended_reason"] == "changed since asked" else row["ended"]
        if row["ended"] is None or done in NEVER_AGAIN:
            calls[row["principal_key"], row["fingerprint"]] += 1
    yield from (f"asked: {count} times for one call of {call[0]}" for call, count in calls.items() if count > 1)


def _sums(books: Books) -> Iterator[str]:
    for report in books.reports:
        if report["stale"] != sum(report[name] for name in ("asked", "closed", "refused", "deferred")):
            yield f"sum: {report}"
        if report["asked"] > CAP:
            yield f"asked: more than {CAP} in one sweep: {report}"


def _waiting(books: Books, instance: str) -> set[str]:
    return {row["request_id"] for row in books.ledgers.get(instance, ())}


def _instance(row: Row) -> str:
    name: str = row["principal_key"].rpartition(":")[2]
    return name


def _text(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
