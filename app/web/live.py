"""Tells every open page when something has changed: one look at the database for all of them, none while none is open.

It serves one process, in one event loop. Pages hear the stamp of `services/watch.py`, and nothing else; what changed
they find out by asking for themselves again.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from contextvars import Context

import structlog

from app.domain import Unavailable
from app.runtime.instants import Clock
from app.services import sessions, watch
from db.engine import Database

LOOK_S = 0.5
BEAT_S = 15.0  # desk.js takes a stream that is silent for 40 s for dead
LOOKS_PER_ROLL_CALL = 4  # sessions may end without an event: every two seconds
EACH_MAX, ALL_MAX = 12, 500  # streams of one session, and in all
log = structlog.get_logger()


class Stream:
    """One open page, of one session."""

    def __init__(self, session: str) -> None:
        self.session, self.ended, self.news = session, False, asyncio.Event()

    def end(self) -> None:
        self.ended = True
        self.news.set()


class Watcher:
    def __init__(self, db: Database, clock: Clock) -> None:
        self._db, self._clock = db, clock
        self._streams: set[Stream] = set()
        self._stamp, self._looks, self._stopped = "", 0, False
        self._task: asyncio.Task[None] | None = None

    def admit(self, session: str) -> None:
        """Raises Unavailable when there is no room for another stream of this session."""
        own = sum(stream.session == session for stream in self._streams)
        if self._stopped or own >= EACH_MAX or len(self._streams) >= ALL_MAX:
            raise Unavailable("There is no room for another stream. Poll instead: GET /console/changes")

    async def follow(self, session: str) -> AsyncGenerator[bytes, None]:
        """The stamp, as server-sent events: at once, whenever it changes, and in between as a sign of life.

        It ends with the session, and when the server stops. The session is named by the hash of its cookie.
        """
        stream = Stream(session)
        self._streams.add(stream)
        try:
            await self.look()
            # In a context of its own: what the watcher runs is no part of the request that happened to start it.
            self._task = self._task or asyncio.create_task(self._watch(), context=Context())
            while not stream.ended:
                stream.news.clear()
                yield f"data: {self._stamp}\n\n".encode()
                with suppress(TimeoutError):
                    await asyncio.wait_for(stream.news.wait(), BEAT_S)
        finally:
            self._streams.discard(stream)
            self._rest()

    async def look(self) -> None:
        """Read the stamp, tell everybody when it is another one, and end streams whose session has ended."""
        stamp = await self._db.read(watch.stamp)
        if stamp != self._stamp:
            self._stamp = stamp
            for stream in self._streams:
                stream.news.set()
        self._looks += 1
        if self._looks % LOOKS_PER_ROLL_CALL == 0:
            await self._call_roll()

    def stop(self) -> None:
        """End every stream, so that a server that is to stop need not wait for pages to be closed."""
        self._stopped = True
        for stream in self._streams:
            stream.end()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self.look()
            except Exception:
                log.exception("look_failed")

    async def _call_roll(self) -> None:
        present = list(self._streams)
        living = await self._db.read(sessions.living, {stream.session for stream in present}, self._clock())
        for stream in present:
            if stream.session not in living:
                stream.end()

    def _rest(self) -> None:
        if not self._streams and self._task:
            self._task.cancel()
            self._task = None
