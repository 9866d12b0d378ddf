"""A Worker that runs the contract suite where objects are. Written over the built entry; never deployed."""

# ruff: noqa: E402 (what comes first must be first)
import sys

sys.modules["rich"] = None  # structlog would load it, and it draws at random at import

import json
import os
import traceback
from typing import Any

from pyodide.ffi import run_sync
from workers import DurableObject, Response, WorkerEntrypoint

from app.cloudflare import d1
from app.cloudflare.answers import given
from app.cloudflare.instance import InstanceObject
from app.cloudflare.webcrypto import WebCryptoCipher
from app.runtime.errors import Unreadable
from db.engine import Database
from tests.workers.contract.cases import cases
from tests.workers.contract.objects import KEY, LATER_MS, Objects, a_clock, instance_object

CASES = cases()


class Triager(DurableObject):
    """As `app/cloudflare/worker.py` makes one, but its class is of any agent."""

    _own: InstanceObject | None = None

    def __init__(self, ctx: Any, env: Any) -> None:
        super().__init__(ctx, env)

    def own(self, agent: str) -> InstanceObject:
        if self._own is None:
            self._own = instance_object(agent, self.ctx.storage)
        return self._own

    async def call(self, agent: str, *given: Any) -> str:
        return await self.own(agent).call(*given)

    async def wake(self, agent: str, *given: Any) -> str:
        return await self.own(agent).wake(*given)

    async def start(self, agent: str, *given: Any) -> str:
        return await self.own(agent).start(*given)

    async def alarm_at(self, _agent: str) -> int | None:
        at = await self.ctx.storage.getAlarm()
        return None if at is None else at - LATER_MS

    async def ring(self, agent: str, _name: str) -> None:
        await self.ctx.storage.deleteAlarm()
        await self.own(agent).alarm()

    async def look(self, agent: str, query: str) -> str:
        async def rows() -> Any:
            return self.own(agent).storage.sql(query)

        return await given(rows())

    async def die(self, _agent: str) -> None:
        self.ctx.abort("as the test wants it")


class Default(WorkerEntrypoint):
    async def fetch(self, request: Any) -> Any:
        case = request.url.rpartition("/")[2]
        if case == "cipher":
            return await self._open_and_seal(await request.text())
        if case not in CASES:
            return Response(json.dumps(sorted(CASES)))
        host = Objects(self.env.TRIAGER, Database(d1.engine(self.env.DB, run_sync)), a_clock())
        try:
            await CASES[case](host)
        except BaseException:  # noqa: BLE001 (told to the test that asked)
            return Response(traceback.format_exc(), status=500)
        return Response("passed")

    async def _open_and_seal(self, sealed: str) -> Any:
        """Answers with the very text, under this host's own cipher."""
        cipher = WebCryptoCipher([KEY], "ledger", os.urandom)
        try:
            return Response(await cipher.seal(await cipher.open(sealed, "row 1"), "row 1"))
        except Unreadable as error:
            return Response(str(error), status=422)
