"""Random histories through many sweeps: who may not be asked about is not, no book is out of balance.

What a ticket was when it was asked about is witnessed by a trigger, in the transaction that puts the question.
"""

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from app.domain import Refusal
from app.runtime import steps
from app.runtime.errors import Halted
from app.runtime.instants import to_text
from app.runtime.steps import Step
from app.services import undo
from config.agents import AGENTS
from config.triage import POLICY
from tests.support import NOW, OPERATOR, a_ticket
from tests.support_brakes import halt, resume
from tests.support_sweep import adds_up, kept_verdicts
from tests.world import World, a_world

pytestmark = pytest.mark.anyio

SEEDS, STEPS = 5, 90
CAP, OPEN_MAX = 4, 9
WITNESS = """
CREATE TABLE latest (at TEXT NOT NULL);
INSERT INTO latest VALUES ('');
CREATE TABLE witnessed (subject TEXT NOT NULL, at TEXT NOT NULL, wrong TEXT);
CREATE TRIGGER witness AFTER INSERT ON approvals WHEN new.fingerprint <> '' BEGIN
  INSERT INTO witnessed SELECT new.subject, new.requested_at, CASE
    WHEN status <> 'open' THEN 'closed'
    WHEN version <> json_extract(new.input, '$.version') THEN 'another version'
    WHEN protected_until > new.requested_at THEN 'protected'
    WHEN priority = 'urgent' THEN 'exempt'
    WHEN EXISTS (SELECT 1 FROM labels WHERE ticket_id = tickets.id AND label = 'keep-open') THEN 'exempt'
    WHEN last_speaker = 'requester' THEN 'unanswered'
    WHEN last_activity_at >= strftime('%Y-%m-%dT%H:%M:%fZ', new.requested_at, '-7 days') THEN 'active'
    WHEN EXISTS (SELECT 1 FROM approvals WHERE subject = new.subject AND id <> new.id AND ended IS NULL) THEN 'asked'
    WHEN EXISTS (SELECT 1 FROM approvals WHERE subject = new.subject AND ended = 'rejected' AND superseded_at IS NULL
      AND (until_at IS NULL OR until_at > max(new.requested_at, (SELECT at FROM latest)))) THEN 'declined'
    WHEN EXISTS (SELECT 1 FROM approvals WHERE subject = new.subject AND ended = 'expired'
      AND ended_at > strftime('%Y-%m-%dT%H:%M:%fZ', new.requested_at, '-24 hours')) THEN 'cooling'
    END
  FROM tickets WHERE id = CAST(substr(new.subject, 8) AS INTEGER);
END;
"""
WRONG = "SELECT subject, wrong FROM witnessed WHERE wrong IS NOT NULL"
TWICE = "SELECT subject FROM approvals WHERE ended IS NULL GROUP BY principal_key, subject HAVING count(*) > 1"
UNSAID = """
SELECT id FROM tickets WHERE status = 'closed' AND closed_by <> 'Ops On-Call' AND NOT EXISTS (
  SELECT 1 FROM approvals WHERE id = changed_by_request AND decision = 'approved' AND ended = 'used'
  AND subject = 'ticket:' || tickets.id AND json_extract(input, '$.version') < version)
"""
UNENDED = "SELECT count(*) FROM approvals WHERE ended IS NULL"
STRETCH = """
SELECT id FROM tickets WHERE status = 'open' AND last_activity_at < :limit
  AND (last_activity_at || '_' || printf('%020d', id)) > :place
"""


class Cut(Exception):
    """The process is gone."""


class History:
    """`told` is what happened, for whoever has to find out why something is not as it must be."""

    def __init__(self, folder: Path, migrated: Path, seed: int) -> None:
        self.folder, self.migrated, self.dice = folder, migrated, random.Random(seed)  # noqa: S311
        self.told: list[str] = []
        self.at = NOW
        self.halted = False
        self.sweeps = 0

    @asynccontextmanager
    async def world(self) -> AsyncIterator[World]:
        async with a_world(self.folder, self.migrated, self.at) as self.w:
            yield self.w

    @property
    def story(self) -> str:
        return "; ".join(self.told)

    async def live(self) -> None:
        async with self.world() as world:
            await world.system.db.write(lambda s: s.connection().connection.executescript(WITNESS) and None)
            for _ in range(12):
                await self.new_ticket()
        left = STEPS
        while left:
            async with self.world():
                left = await self.until_a_restart(left)
                self.at = self.w.clock.at

    async def until_a_restart(self, left: int) -> int:
        while left:
            left -= 1
            over = self.halted and self.dice.random() < 0.2
            act = History.halt_or_resume if over else self.dice.choices([*ACTS], [*ACTS.values()])[0]
            self.told.append(act.__name__)
            with suppress(Refusal, Halted):
                await act(self)
            await self.check()
            if act is History.restart:
                break
        return left

    async def check(self) -> None:
        latest = "UPDATE latest SET at = max(at, :now)"
        await self.w.system.db.write(lambda s: s.execute(text(latest), {"now": to_text(self.w.clock.at)}) and None)
        assert await self.rows(WRONG) == [], self.story
        assert await self.rows(TWICE) == [], self.story
        assert await self.rows(UNSAID) == [], self.story
        [(unended,)] = await self.rows(UNENDED)
        assert unended <= OPEN_MAX, self.story

    async def rows(self, query: str, **given: Any) -> list[tuple[Any, ...]]:
        return await self.w.system.db.read(lambda s: [tuple(row) for row in s.execute(text(query), given)])

    # What may happen

    async def new_ticket(self) -> None:
        speaker = self.dice.choice(["operator", "operator", "none", "requester"])
        await self.w.system.db.write(a_ticket, age_days=self.dice.uniform(0, 30), last_speaker=speaker)

    async def _send(self, method: str, what: str, body: dict[str, Any]) -> None:
        """To any ticket; it may refuse."""
        [(count,)] = await self.rows("SELECT count(*) FROM tickets")
        ticket = self.dice.randint(1, count)
        self.told[-1] += f" {ticket}"
        await self.w.client.request(method, f"/tickets/{ticket}{what}", json=body)

    async def comment(self) -> None:
        speaker = self.dice.choice(["operator", "requester"])
        await self._send("POST", "/comments", {"body": "Well?", "speaker": speaker})

    async def note(self) -> None:
        await self._send("POST", "/comments", {"body": "They called.", "public": False})

    async def close(self) -> None:
        await self._send("POST", "/close", {"version": self.dice.randint(1, 3)})

    async def reopen(self) -> None:
        await self._send("POST", "/reopen", {})

    async def edit(self) -> None:
        until = to_text(self.w.clock.at + timedelta(days=2))
        choices: list[dict[str, Any]] = [
            {"title": f"Title {self.dice.random()}"},
            {"protected_until": self.dice.choice([until, None])},
            {"labels": self.dice.choice([["keep-open"], ["bug"], []])},
            {"priority": self.dice.choice(["urgent", "low"])},
        ]
        await self._send("PATCH", "", self.dice.choice(choices))

    async def approve(self) -> None:
        if pending := await self.w.pending():
            await self.w.approve(self.dice.choice(pending), wake=self.dice.random() < 0.7)

    async def reject(self) -> None:
        if pending := await self.w.pending():
            until = to_text(self.w.clock.at + timedelta(days=2))
            how = self.dice.choice([{}, {"until_at": until}, {"until_window_ends": True}])
            request = self.dice.choice(pending)
            await self.w.client.post(f"/approvals/{request}/reject", json=how)
            await self.w.system.host.drain()

    async def ask_again(self) -> None:
        if refused := await self.rows("SELECT id FROM approvals WHERE ended = 'rejected'"):
            request = self.dice.choice(refused)[0]
            await self.w.system.db.write(undo.ask_again, request, by=OPERATOR, now=self.w.clock.at)

    async def time_passes(self) -> None:
        await self.w.run_due(hours=self.dice.choice([0.01, 1, 1, 5, 25, 49, 73]))

    async def the_clock_jumps(self) -> None:
        """Nothing rings meanwhile."""
        self.w.clock.advance(hours=self.dice.choice([-5, -1, 30, 80]))

    async def halt_or_resume(self) -> None:
        self.halted = not self.halted
        await (halt if self.halted else resume)(self.w, self.dice.choice([None, "triager"]) if self.halted else None)
        if not self.halted:
            await resume(self.w, "triager")

    async def restart(self) -> None:
        """`until_a_restart` sees to it."""

    async def sweep(self) -> None:
        self.w.clock.advance(seconds=61)
        place = ((await self.w.report())["progress"] or {}).get("next")
        stretch, parked = await self._stretch(place), await self._parked()
        summary = await self.w.sweep()
        self.sweeps += 1
        assert adds_up(summary), self.story
        verdicts = kept_verdicts(self.w)[-1]
        assert summary["error"] is None, self.story
        assert {one["ticket_id"] for one in verdicts} == stretch | parked, self.story
        assert all(one["reason"] for one in verdicts), self.story
        assert summary["asked"] <= CAP, self.story

    async def a_sweep_is_cut_off(self) -> None:
        """Anywhere; and another one goes on with what it began."""
        left = [self.dice.randint(1, 12)]

        def hook(_: Step) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise Cut

        [(before,)] = await self.rows("SELECT count(*) FROM witnessed")
        steps._hook.append(hook)
        try:
            await self.w.sweep()
        except Cut:
            self.told[-1] += " indeed"
        finally:
            steps._hook.remove(hook)
        self.w.clock.advance(seconds=61)
        await self.w.sweep()
        [(after,)] = await self.rows("SELECT count(*) FROM witnessed")
        assert after - before <= (CAP if self.told[-1].endswith("indeed") else 2 * CAP), self.story

    async def _stretch(self, place: str | None) -> set[int]:
        limit = to_text(self.w.clock.at - timedelta(days=7))
        at, _, number = (place or "_0").rpartition("_")
        behind = await self.rows(STRETCH, limit=limit, place=f"{at}_{int(number):020d}" if place else "")
        return {row[0] for row in behind or await self.rows(STRETCH, limit=limit, place="")}

    async def _parked(self) -> set[int]:
        return {int(one["subject"][7:]) for one in (await self.w.report())["parked"]}


Act = Callable[[History], Awaitable[None]]
ACTS: dict[Act, int] = {
    History.sweep: 25,
    History.time_passes: 10,
    History.approve: 8,
    History.reject: 8,
    History.edit: 8,
    History.comment: 6,
    History.ask_again: 5,
    History.new_ticket: 5,
    History.a_sweep_is_cut_off: 4,
    History.close: 4,
    History.reopen: 4,
    History.restart: 3,
    History.the_clock_jumps: 3,
    History.halt_or_resume: 3,
    History.note: 1,
}


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_whatever_happens_nobody_is_asked_about_who_must_not_be_and_the_books_balance(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setitem(POLICY, "max_asks_per_sweep", CAP)
    monkeypatch.setitem(AGENTS["triager"], "open_requests", OPEN_MAX)
    history = History(tmp_path, migrated, seed)
    await history.live()
    assert history.sweeps > 5
