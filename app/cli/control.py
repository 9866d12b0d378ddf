"""How a command talks to the running host: one JSON line each way over a Unix socket that only its owner can open."""

import asyncio
import hashlib
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import structlog

Command = Callable[[Any], Awaitable[Any]]  # takes one JSON value, answers with one
ANSWER_MAX_BYTES = 2**26
ANSWER_WITHIN_S = 60.0  # a sweep of many pages takes seconds
PATH_MAX_BYTES = 103  # what every system's socket names hold
log = structlog.get_logger()


class Asked(msgspec.Struct):
    command: str
    argument: Any = None


class ControlFailed(Exception):
    """The running host did not carry the command out; its message says why. A command may raise it to refuse."""


def socket_path(data_dir: Path) -> Path:
    """In the data directory, or, where that name is too long for a socket, in a private folder of the temporary one."""
    path = data_dir / "host.sock"
    if len(os.fsencode(path)) <= PATH_MAX_BYTES:
        return path
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"triager-{os.getuid()}-{digest}" / "host.sock"


@asynccontextmanager
async def listening(path: Path, commands: Mapping[str, Command]) -> AsyncIterator[None]:
    """Answer commands for the block. The caller holds the host's lock, so a socket that is there is a dead host's."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(msgspec.json.encode(await _carry_out(await reader.readline(), commands)) + b"\n")
        with suppress(ConnectionError):  # whoever asked has left
            await writer.drain()
        writer.close()

    with _bound(path) as bound:
        async with await asyncio.start_unix_server(answer, sock=bound):
            yield


async def ask(path: Path, command: str, argument: Any = None) -> Any:
    """The running host's answer. Raises OSError when none listens, ControlFailed when it could not do it."""
    reader, writer = await asyncio.open_unix_connection(path, limit=ANSWER_MAX_BYTES)
    try:
        writer.write(msgspec.json.encode(Asked(command, argument)) + b"\n")
        line = await asyncio.wait_for(reader.readline(), ANSWER_WITHIN_S)
        answer = msgspec.json.decode(line or b'{"error": "the host stopped"}')
    except TimeoutError:
        raise ControlFailed("The running host does not answer. Nothing is known to have been executed.") from None
    finally:
        writer.close()
    if "error" in answer:
        raise ControlFailed(answer["error"])
    return answer["ok"]


@contextmanager
def _bound(path: Path) -> Iterator[socket.socket]:
    """Bound here and not by asyncio, which would let other tasks run under this umask."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    bound = socket.socket(socket.AF_UNIX)
    old = os.umask(0o177)
    try:
        bound.bind(os.fsencode(path))
    finally:
        os.umask(old)
    try:
        yield bound
    finally:
        path.unlink(missing_ok=True)


async def _carry_out(line: bytes, commands: Mapping[str, Command]) -> dict[str, Any]:
    try:
        asked = msgspec.json.decode(line, type=Asked)
    except msgspec.MsgspecError as error:
        return {"error": f"The running host was asked nothing it understands ({error}). Nothing was executed."}
    if asked.command not in commands:
        return {"error": f'The running host knows no command "{asked.command}". Nothing was executed. Restart it.'}
    try:
        return {"ok": await commands[asked.command](asked.argument)}
    except ControlFailed as error:
        return {"error": str(error)}
    except Exception as error:
        log.exception("control_failed", command=asked.command)
        return {"error": str(error)}
