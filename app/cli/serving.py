"""One process that serves: the web server, the host of the agents, and the socket for commands."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import structlog
import uvicorn

from app.cli import control
from app.cli.operations import commands
from app.main import System
from app.runtime.durable.host_embedded import LOOK_MAX_S
from app.runtime.durable.schedules import next_run
from app.runtime.tools.dispatch import ASGIApp
from app.services.housekeeping import NIGHTLY, tidy
from app.web.live import Watcher
from app.web.tracing import configure_logs
from config.settings import Settings

GRACE_S = 5  # how long an answer under way may take after SIGTERM
SIGNALS = (signal.SIGINT, signal.SIGTERM)
log = structlog.get_logger()


def listen(settings: Settings) -> tuple[socket.socket, str]:
    """A listening socket and its address. Raises OSError when the port is taken: there is no other choice of port."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.create_server((settings.host, settings.port), family=family)
    host = f"[{settings.host}]" if family == socket.AF_INET6 else settings.host
    return listener, f"http://{host}:{listener.getsockname()[1]}"


async def serve(system: System, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Until SIGINT or SIGTERM. Calls `ready` once requests are answered."""
    configure_logs()
    server, stop, loop = (
        _Server(config(system.app, system.settings.trusted_proxies), system.live, ready),
        asyncio.Event(),
        asyncio.get_running_loop(),
    )

    def end() -> None:
        system.host.stop()
        server.stop()
        loop.call_soon_threadsafe(stop.set)

    _on_signal(end)
    async with control.listening(control.socket_path(system.settings.data_dir), commands(system)):
        agents = asyncio.create_task(system.host.run(stop))
        agents.add_done_callback(lambda _: server.stop())  # a host that died must not leave a server without agents
        nights = asyncio.create_task(_tidy_nightly(system, stop))
        await server.serve(sockets=[listener])
        stop.set()
        await asyncio.gather(agents, nights)
        await system.host.drain()  # what the last requests have begun


def _on_signal(end: Callable[[], None]) -> None:
    """The first SIGINT or SIGTERM calls `end`, even in the middle of a turn; the second ends the process at once."""

    def first(*_: object) -> None:
        for signum in SIGNALS:
            signal.signal(signum, signal.SIG_DFL)
        end()

    for signum in SIGNALS:
        signal.signal(signum, first)


async def _tidy_nightly(system: System, stop: asyncio.Event) -> None:
    """Housekeeping, whenever its hour has come. A night without this process has none."""
    at = next_run(NIGHTLY, "UTC", system.clock())
    while not stop.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), LOOK_MAX_S)
        if system.clock() >= at and not stop.is_set():
            at = next_run(NIGHTLY, "UTC", system.clock())
            try:
                gone = await tidy(system.db, system.clock())
                log.info("housekeeping", **gone, audit_days=system.audit.prune(system.clock()))
            except Exception:
                log.exception("housekeeping_failed")


def config(app: ASGIApp, trusted_proxies: Sequence[str]) -> uvicorn.Config:
    proxies = list(trusted_proxies)
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies,
        timeout_graceful_shutdown=GRACE_S,
    )


class _Server(uvicorn.Server):
    """Leaves signals to us: uvicorn would raise them again, and end the process before the host has stopped."""

    def __init__(self, config: uvicorn.Config, live: Watcher, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._live, self._ready = live, ready

    def stop(self) -> None:
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._live.stop()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()
