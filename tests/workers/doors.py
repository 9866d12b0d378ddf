"""The Worker's entry under test: the built one, with doors of its own at /tests/. Never built, never deployed."""

import json
from typing import Any

import entry_built
from workers import Response

from app.runtime.instants import to_text, utc_now
from app.runtime.steps import Step, on_reached

stops: list[tuple[str, Any]] = []  # a step, and what to do there, once


def _stop(step: Step) -> None:
    if stops and stops[0][0] == step:
        stops.pop(0)[1]()


def _raise() -> None:
    raise RuntimeError("as the test wants it")


on_reached(_stop)


class Triager(entry_built.Triager):
    async def abort_at(self, step: str) -> None:
        stops.append((step, lambda: self.ctx.abort("as the test wants it")))

    async def ring(self, _: str) -> None:
        """The alarm rings at once, and its turn raises as it sets the next one."""
        self._own.alarm_clock.arm(to_text(utc_now()))
        stops.append((Step.ARMED, _raise))

    async def rows(self, query: str) -> str:
        return json.dumps(self._own.storage.sql(query))


class Default(entry_built.Default):
    async def fetch(self, request: Any) -> Any:
        _, _, door = request.url.partition("/tests/")
        if not door:
            return await super().fetch(request)
        text = await request.text()
        if door == "d1":
            statement, *values = json.loads(text)
            prepared = self.env.DB.prepare(statement)
            done = await (prepared.bind(*values) if values else prepared).all()
            return Response(json.dumps(done["results"]))
        found = await getattr(self.env.TRIAGER.getByName("main"), door)(text)
        return Response(found or "null")
