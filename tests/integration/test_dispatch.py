"""What a route's response is to the caller of a tool."""

from typing import Annotated, Any

import pytest
from litestar import Litestar, Response
from litestar.params import FromQuery, QueryParameter
from litestar.response import Redirect
from msgspec import Struct

from app.runtime.principal import InProcess, Principal
from app.runtime.tools.agent_route import get
from app.runtime.tools.catalog import Catalog
from app.runtime.tools.dispatch import dispatch
from app.runtime.tools.results import Done, Outcome, why
from app.web.strict import StrictRequest, refuse_unknown_query

AGENT = Principal.agent("triager", "main")


class Found(Struct):
    id: int


async def answered(response: Response[Any], returned: Any = Any, *, rehearsal: bool = False, **query: Any) -> Outcome:
    async def find(text: Annotated[str, QueryParameter(description="Any.")] = "") -> Any:
        return response

    find.__annotations__["return"] = returned
    app = Litestar(
        [get("/find", name="things.find").agent(description="Find.")(find)], openapi_config=None, logging_config=None
    )
    tool = Catalog.of(app).get("things_find")
    return await dispatch(app, tool, query, InProcess(AGENT, rehearsal=rehearsal))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("response", "body"),
    [
        (Response({"id": 1}), {"id": 1}),
        (Response([1, 2]), [1, 2]),
        (Response("plain", media_type="text/plain"), "plain"),
        (Response(b"{", media_type="application/json"), "{"),
        (Response(b"", media_type="text/plain"), "It answered 200."),
        (Response(b"\xff", media_type="text/plain"), "\ufffd"),
        (Response(None, status_code=204), "It answered 204."),
        (Redirect("/elsewhere", status_code=303), "It answered 303, see /elsewhere."),
        (Response({"detail": "No."}, status_code=409), {"detail": "No."}),
    ],
)
async def test_an_answer_is_its_json_or_else_a_text(response: Response[Any], body: Any) -> None:
    outcome = await answered(response)
    status = response.status_code or 200
    assert (outcome.status, outcome.body, outcome.mismatch, outcome.is_error) == (status, body, None, status >= 400)


@pytest.mark.anyio
async def test_a_long_text_is_cut_and_says_how_much_is_missing() -> None:
    outcome = await answered(Response("é" * 50_003, media_type="text/plain"))
    assert outcome.body == "é" * 50_000 + "… and 3 characters more."


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("response", "shape"),
    [
        (Response([1]), "200, with a list"),
        (Response("7", media_type="application/json"), "200, with a number"),
        (Response("null", media_type="application/json"), "200, with null"),
        (Response("plain", media_type="text/plain"), "200, with a text"),
        (Response(None, status_code=204), "204, with a text"),
        (Redirect("/elsewhere", status_code=303), "303, with a text"),
    ],
)
async def test_an_answer_that_is_not_the_object_it_promised_is_an_error_of_a_call_that_ran(
    response: Response[Any], shape: str
) -> None:
    outcome = await answered(response, Found)
    assert outcome.mismatch
    assert f"things_find ran and answered {shape} where it promises an object" in outcome.mismatch
    assert (outcome.status, outcome.is_error) == (response.status_code or 200, False)  # nothing was refused
    assert why(Done(outcome)) == outcome.mismatch


@pytest.mark.anyio
async def test_a_refusal_breaks_no_promise() -> None:
    outcome = await answered(Response("gone", status_code=404, media_type="text/plain"), Found)
    assert (outcome.is_error, outcome.mismatch, outcome.body) == (True, None, "gone")


@pytest.mark.anyio
async def test_what_a_rehearsal_answers_is_nothing_the_tool_promised() -> None:
    assert (await answered(Response([1]), Found, rehearsal=True)).mismatch is None


@get("/echo", name="things.echo").agent(description="Echo.")
async def echo(
    text: FromQuery[str | None] = None,
    count: FromQuery[int] = 5,
    weight: FromQuery[float] = 1.5,
    urgent: FromQuery[bool] = True,
) -> dict[str, Any]:
    return {"text": text, "count": count, "weight": weight, "urgent": urgent}


@pytest.mark.anyio
@pytest.mark.parametrize(
    "given",
    [
        {"text": "null"},
        {"text": ""},
        {"text": " a&b=c+d%41#é "},
        {"count": -7},
        {"count": 0},
        {"weight": 1e22},
        {"weight": -1e-07},
        {"weight": 7.0},
        {"urgent": False},
        {"text": None},
    ],
)
async def test_a_query_argument_arrives_as_it_was_given(given: dict[str, Any]) -> None:
    app = Litestar(
        [echo],
        request_class=StrictRequest,
        before_request=refuse_unknown_query,
        openapi_config=None,
        logging_config=None,
    )
    tool = Catalog.of(app).get("things_echo")
    outcome = await dispatch(app, tool, tool.validate(given), InProcess(AGENT))
    assert outcome.body == {"text": None, "count": 5, "weight": 1.5, "urgent": True} | given
