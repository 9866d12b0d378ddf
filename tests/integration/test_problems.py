"""Errors on the wire."""

from typing import Any

import pytest
from litestar import get
from litestar.exceptions import ImproperlyConfiguredException
from support import an_api

from app.domain import Conflict, Unavailable
from app.runtime import invocation
from app.runtime.errors import StatementLimitExceeded, Unreadable
from db.engine import Database

pytestmark = pytest.mark.anyio

SECRET = "hunter2"  # noqa: S105


async def answer_to(database: Database, error: Exception) -> Any:
    @get("/raise", sync_to_thread=False)
    def failing() -> None:
        raise error

    with invocation.begin("4bf92f3577b34da6a3ce929d0e0e4736"):
        return await an_api(database, failing).get("/raise")


async def test_a_refusal_says_what_state_the_thing_is_in(database: Database) -> None:
    answer = await answer_to(database, Conflict("It is closed.", state="closed"))
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": "about:blank",
        "title": "Conflict",
        "status": 409,
        "detail": "It is closed.",
        "state": "closed",
        "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
    }


async def test_what_may_go_through_later_says_when(database: Database) -> None:
    answer = await answer_to(database, Unavailable("Busy."))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


@pytest.mark.parametrize(
    "bug",
    [
        StatementLimitExceeded(50),
        Unreadable(SECRET),
        RuntimeError(SECRET),
        ImproperlyConfiguredException(SECRET),
        KeyError(SECRET),
    ],
)
async def test_a_bug_tells_the_log_and_not_the_caller(
    database: Database, bug: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = await answer_to(database, bug)
    assert (answer.status_code, answer.json()["title"]) == (500, "Internal Server Error")
    assert answer.json()["trace_id"] == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert SECRET not in answer.text
    assert "SQL" not in answer.text
    assert type(bug).__name__ in capsys.readouterr().out


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nowhere", 404), ("DELETE", "/tickets/1", 405)])
async def test_what_no_route_serves_is_a_problem_too(database: Database, method: str, path: str, status: int) -> None:
    answer = await an_api(database).request(method, path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json()["detail"].endswith("Nothing was executed.")
