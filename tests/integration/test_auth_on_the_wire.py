"""Bearer headers as bytes on a socket: whatever they hold is a refusal, and nobody's crash."""

import asyncio
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.main import build
from app.runtime.instants import utc_now
from app.services import users
from config.settings import Settings
from tests.support_browser import TOKEN, Server, running, walkthrough
from tests.world import KEY


@pytest.fixture
def server(tmp_path: Path, migrated: Path) -> Iterator[Server]:
    shutil.copy(migrated, tmp_path / "triager.sqlite")
    server = Server(build(Settings(data_dir=tmp_path, app_key=KEY)), furnish=walkthrough)
    with running(server):
        yield server


def status(connection: socket.socket, *headers: bytes) -> int:
    """The status of GET /tickets with these header lines. 0 when the server hung up."""
    head = b"\r\n".join((b"GET /tickets HTTP/1.1", b"Host: localhost", *headers, b"", b""))
    connection.sendall(head)
    answer = b""
    while chunk := connection.recv(65_536):
        answer += chunk
        top, found, body = answer.partition(b"\r\n\r\n")
        length = next((int(line[15:]) for line in top.lower().split(b"\r\n") if line[:15] == b"content-length:"), 0)
        if found and len(body) >= length:
            return int(answer.split()[1])
    return 0


def connect(server: Server) -> socket.socket:
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    return socket.create_connection((host, port), timeout=20)


GOOD = b"Authorization: Bearer " + TOKEN.encode()


@pytest.mark.parametrize(
    ("headers", "codes"),
    [
        ([b"Authorization: Bearer caf\xe9"], {401}),
        ([b"Authorization: Bearer"], {401}),
        ([b"Authorization:"], {401}),
        ([GOOD.replace(b"Bearer ", b"Bearer  ")], {401}),
        ([GOOD, GOOD], {401}),
        ([GOOD[:-3] + b"xxx"], {401}),
        ([b"Authorization: Bearer " + b"x" * 100_000], {400, 401, 431}),
        ([GOOD.replace(b"Bearer", b"bearer")], {200}),
    ],
)
def test_an_odd_header_is_refused(server: Server, headers: list[bytes], codes: set[int]) -> None:
    with connect(server) as connection:
        assert status(connection, *headers) in codes
    with connect(server) as connection:
        assert status(connection, GOOD) == 200


def test_a_disabled_owner_is_out_on_the_next_request_of_the_same_connection(server: Server, tmp_path: Path) -> None:
    with connect(server) as connection:
        assert status(connection, GOOD) == 200
        other = build(Settings(data_dir=tmp_path, app_key=KEY))
        asyncio.run(other.db.write(users.disable, "ops@example.test", utc_now()))
        other.close()
        assert status(connection, GOOD) == 401
