"""One process that serves: the web server, the host of the agents, and the socket for commands."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from app.main import System
from app.runtime.durable import control
from app.tracing import configure_logs
from config.settings import Settings

GRACE_S = 5  # how long an answer under way may take after SIGTERM


def listen(settings: Settings) -> tuple[socket.socket, str]:
    """A listening socket and its address. Raises OSError when the port is taken: there is no other choice of port."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.create_server((settings.host, settings.port), family=family)
    host = f"[{settings.host}]" if family == socket.AF_INET6 else settings.host
    return listener, f"http://{host}:{listener.getsockname()[1]}"


async def serve(system: System, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Until SIGINT or SIGTERM. Calls `ready` once requests are answered."""
    configure_logs()
    server = _Server(_config(system), ready)
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signum, server.stop)
    stop = asyncio.Event()
    commands = {"sweep": lambda: system.host.get("triager", "main").call("sweep")}
    async with control.listening(control.socket_path(system.settings.data_dir), commands):
        agents = asyncio.create_task(system.host.run(stop))
        agents.add_done_callback(lambda _: server.stop())  # a host that died must not leave a server without agents
        await server.serve(sockets=[listener])
        stop.set()
        await agents


def _config(system: System) -> uvicorn.Config:
    proxies = list(system.settings.trusted_proxies)
    return uvicorn.Config(
        system.app,
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

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    def stop(self) -> None:
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()
