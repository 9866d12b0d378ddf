"""Commands reach the running host over a socket that only its owner can open."""

import asyncio
import socket
import stat
from pathlib import Path

import pytest

from app.cli import control

pytestmark = pytest.mark.anyio


async def count(_: object) -> list[int]:
    return [1, 2, 3]


async def explode(_: object) -> None:
    raise RuntimeError("the disk is full")


COMMANDS = {"count": count, "explode": explode}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "host.sock"


async def test_a_command_is_carried_out_and_answered(path: Path) -> None:
    async with control.listening(path, COMMANDS):
        assert await asyncio.gather(*(control.ask(path, "count") for _ in range(5))) == [[1, 2, 3]] * 5


async def test_an_unknown_command_is_refused_and_says_what_helps(path: Path) -> None:
    async with control.listening(path, COMMANDS):
        with pytest.raises(control.ControlFailed, match=r'knows no command "dance"\. Nothing was executed\. Restart'):
            await control.ask(path, "dance")


async def test_a_command_that_fails_is_reported_and_the_next_one_works(path: Path) -> None:
    async with control.listening(path, COMMANDS):
        with pytest.raises(control.ControlFailed, match="the disk is full"):
            await control.ask(path, "explode")
        assert await control.ask(path, "count") == [1, 2, 3]


async def test_a_caller_that_says_nothing_or_leaves_stops_no_other(path: Path) -> None:
    async with control.listening(path, COMMANDS):
        for said in (b"", b"\xff\xfe\n"):
            _, writer = await asyncio.open_unix_connection(path)
            writer.write(said)
            writer.close()
            await writer.wait_closed()
        assert await control.ask(path, "count") == [1, 2, 3]


async def test_only_its_owner_can_open_it(path: Path) -> None:
    async with control.listening(path, COMMANDS):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600  # noqa: ASYNC240


async def test_without_a_host_nobody_answers(path: Path) -> None:
    async with control.listening(path, COMMANDS):
        pass
    with pytest.raises(OSError, match="No such file"):
        await control.ask(path, "count")


async def test_a_socket_that_a_killed_host_left_behind_is_replaced(path: Path) -> None:
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(path))
    dead.close()
    with pytest.raises(ConnectionRefusedError):
        await control.ask(path, "count")
    async with control.listening(path, COMMANDS):
        assert await control.ask(path, "count") == [1, 2, 3]


async def test_a_data_directory_too_long_for_a_socket_gets_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    deep = tmp_path / ("d" * 120)
    path = control.socket_path(deep)
    assert len(str(path)) <= control.PATH_MAX_BYTES
    assert path != control.socket_path(deep / "other")
    async with control.listening(path, COMMANDS):
        assert await control.ask(path, "count") == [1, 2, 3]
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_short_data_directory_holds_its_own_socket(path: Path) -> None:
    assert control.socket_path(Path("/srv/triager")) == Path("/srv/triager/host.sock")
