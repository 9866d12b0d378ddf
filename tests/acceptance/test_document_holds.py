"""What /schema/openapi.json promises, held against the requests that schemathesis makes up from it: good ones and bad.

They reach the whole product in process, as an operator's. Two things that no JSON Schema can say are allowed for: rules
of the app (nobody rejects until yesterday), and that 7.0 is not 7 here.
"""

from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import msgspec
import schemathesis
from hypothesis import strategies as st
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, events, from_schema

from app.main import look
from app.runtime.instants import to_text
from app.schemas import INSTANT, NO_NUL, ONE_LINE
from app.web.openapi import document
from tests.support import a_ticket
from tests.support_cli import in_a_world
from tests.world import TOKEN, World, a_world

CONFIG = {
    "seed": 5,
    "headers": {"Authorization": f"Bearer {TOKEN}", "Host": "localhost"},
    "continue-on-failure": True,
    "cache": {"enabled": False},
    "generation": {"max-examples": 5, "deterministic": True, "database": "none", "no-shrink": True, "allow-x00": False},
    "phases": {"stateful": {"enabled": False}},
    # To OPTIONS, Litestar 2.25 names the methods of the first handler at a path only.
    "checks": {"allow_header_conformance": {"enabled": False}},
    "operations": [  # no host runs here, which is what 503 says
        {"include-path": "/health/ready", "checks": {"not_a_server_error": {"expected-statuses": ["2xx", "4xx", 503]}}}
    ],
}
# Its generator takes minutes for 20,000 characters of a pattern, so it is told in words of its own what may be sent.
FORMATS = {
    INSTANT: ("date-time", st.datetimes(timezones=st.just(UTC)).map(to_text)),
    ONE_LINE: ("one-line", st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=256)),
}


def test_no_route_breaks_its_word(tmp_path: Path, migrated: Path) -> None:
    waiting = in_a_world(tmp_path, migrated, furnished)
    described = in_its_words(document(look().litestar), waiting)
    for name, strategy in FORMATS.values():
        schemathesis.openapi.format(name, strategy)
    schema = schemathesis.openapi.from_dict(described, config=SchemathesisConfig.from_dict(CONFIG))
    schema.app = served(tmp_path, migrated)
    seen: set[tuple[str, int]] = set()
    faults = [fault for event in from_schema(schema).execute() for fault in faults_of(event, seen)]
    assert faults == []
    operations = {f"{method.upper()} {path}" for path, methods in described["paths"].items() for method in methods}
    assert operations - {operation for operation, status in seen if status < 300} <= {"GET /health/ready"}


async def furnished(world: World) -> list[str]:
    """Thirty stale tickets, and ten requests, of which two are rejected. The requests' ids."""
    for number in range(30):
        await world.system.db.write(a_ticket, title=f"Ticket {number}")
    await world.sweep()
    waiting = await world.pending()
    for request_id in waiting[:2]:
        await world.reject(request_id)
    return waiting


def served(folder: Path, migrated: Path) -> Any:
    """The product as an app that starts and stops by its lifespan, in whichever loop that is."""
    worlds: list[World] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await worlds[0].system.app(scope, receive, send)
            return
        await receive()
        async with a_world(folder, migrated) as world:
            worlds.append(world)
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    return app


def in_its_words(described: dict[str, Any], request_ids: list[str]) -> dict[str, Any]:
    """The document with what is sent said anew: formats for patterns, and requests that there are."""
    copy: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(described))
    sent = [operation["parameters"] for path in copy["paths"].values() for operation in path.values()]
    for parameter in (one for parameters in sent for one in parameters if one["name"] == "request_id"):
        parameter["schema"] = {"type": "string", "enum": request_ids}
    say_anew([sent, [one for one in copy["components"]["schemas"].values() if "additionalProperties" in one]])
    return copy


def say_anew(part: Any) -> None:
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        say_anew(each)
    if isinstance(part, dict) and part.get("pattern") in (*FORMATS, NO_NUL):
        pattern = part.pop("pattern")
        if pattern in FORMATS:  # U+0000 is for the whole run to leave out
            part["format"] = FORMATS[pattern][0]


def faults_of(event: Any, seen: set[tuple[str, int]]) -> Iterator[str]:
    if isinstance(event, events.NonFatalError | events.FatalError):
        yield repr(event)
    for case_id, checks in event.recorder.checks.items() if isinstance(event, events.ScenarioFinished) else ():
        answer = event.recorder.interactions[case_id].response
        seen.add((event.recorder.label, answer.status_code))
        for check in checks:
            if check.status is Status.FAILURE and not beyond_a_schema(check.name, answer):
                what, sent = check.failure_info.failure.message, check.failure_info.code_sample
                said = f"{answer.status_code} {answer.content[:400]}"
                yield f"{event.recorder.label} {check.name}: {what}\n{sent}\n{said}"


def beyond_a_schema(check: str, answer: Any) -> bool:
    """A rule of the app refuses with a 422 that has no `errors`; and JSON Schema takes 7.0 for an integer."""
    if check != "positive_data_acceptance":
        return False
    errors = msgspec.json.decode(answer.content).get("errors", [])
    return answer.status_code == 422 and all(one["message"] == "Expected `int`, got `float`" for one in errors)
