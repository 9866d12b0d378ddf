"""A tool's input schema and its validator are of one mind: what the one admits, the other takes."""

from enum import IntEnum, StrEnum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from litestar import Litestar, Response
from litestar.params import FromPath, FromQuery, HeaderParameter, JSONBody, QueryParameter
from msgspec import UNSET, Meta, UnsetType

from app.domain import TicketId
from app.main import look
from app.runtime.errors import WiringError
from app.runtime.tools.agent_route import get, post, put
from app.runtime.tools.catalog import Catalog, Tool
from app.schemas import Input, Instant, Name, Title


class Colour(StrEnum):
    RED = "red"


class Size(IntEnum):
    BIG = 3


class Part(Input):
    name: Name
    count: int = 1


class Parcel(Input, rename={"from_": "from"}):
    title: Title
    from_: Name = "us"
    at: Instant | None = None
    parts: Annotated[list[Part], Meta(max_length=2)] = []  # noqa: RUF012 (msgspec copies it)
    weight: float = 1.5
    notes: dict[str, int] = {}  # noqa: RUF012 (msgspec copies it)
    colour: Colour | UnsetType = UNSET
    kind: Literal["a", "b", None] = "a"
    anything: Any = None


@post("/parcels/{label:str}/{ticket_id:str}", name="parcels.pack").agent(description="Pack.")
async def pack(
    label: FromPath[str],
    ticket_id: FromPath[TicketId],
    data: JSONBody[Parcel],
    limit: Annotated[int, QueryParameter(ge=1, le=9, description="How many.")] = 5,
    size: FromQuery[Size | None] = None,
    urgent: FromQuery[bool] = False,
    next_: Annotated[str | None, QueryParameter(name="next", max_length=3)] = None,
) -> Parcel: ...


def tool_of(handler: Any) -> Tool:
    [tool] = Catalog.of(Litestar([handler], openapi_config=None, logging_config=None))
    return tool


TOOLS = [*look().catalog, tool_of(pack)]
GOOD = {"label": "x", "ticket_id": 1, "version": 1, "title": "Printer"}
# No 7.0 among them: JSON Schema takes it for an integer, and here it is none, so that one call has one spelling.
VALUES: list[Any] = [
    *("", "x", "..", "a/b", "a\nb", "a\0b", " ", "x" * 121, "red", "b", "open", "quietest", "2026-03-09T12:00:00.000Z"),
    *("2026-03-09", "7,8", "07", "2026-03-09T12:00:00.000Z_7", 0, 1, 3, 9, 10, -1, 2**53 - 1, 2**53, 0.5, True, None),
    *([], ["x"], [{"name": "x"}], [{"name": "x", "size": 1}], [{"count": 2}], [{"name": "x"}] * 3, {}, {"x": 1}),
    *({"x": "1"}, {"x": None}, "..\n", ".\n", "x\n"),
]


def arguments(tool: Tool) -> st.SearchStrategy[dict[str, Any]]:
    """Mostly what is good, with a few keys that hold anything, and at times one that is unknown or missing."""
    keys = [*tool.sources, "unknown"]
    odd = st.dictionaries(st.sampled_from(keys), st.sampled_from(VALUES), max_size=3)
    good = {name: value for name, value in GOOD.items() if name in tool.sources}
    gone = st.sets(st.sampled_from(sorted(tool.sources)), max_size=1)
    return st.builds(lambda odd, gone: {k: v for k, v in (good | odd).items() if k not in gone}, odd, gone)


def takes(tool: Tool, given_: dict[str, Any]) -> bool:
    try:
        tool.validate(given_)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_schema_admits_what_the_tool_takes_and_nothing_else(tool: Tool) -> None:
    schema = Draft202012Validator(tool.input_schema)
    admitted = []

    @given(arguments(tool))
    @settings(max_examples=400, deadline=None, derandomize=True, database=None)
    @example({name: value for name, value in GOOD.items() if name in tool.sources})
    def agree(given_: dict[str, Any]) -> None:
        assert takes(tool, given_) is schema.is_valid(given_), given_
        admitted.append(schema.is_valid(given_))

    agree()
    assert {True, False} <= set(admitted)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_value_alone_is_judged_alike_in_each_argument(tool: Tool) -> None:
    schema, good = Draft202012Validator(tool.input_schema), {k: v for k, v in GOOD.items() if k in tool.sources}
    for name in tool.sources:
        for value in VALUES:
            assert takes(tool, good | {name: value}) is schema.is_valid(good | {name: value}), (name, value)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_both_schemas_are_json_schema_2020_12(tool: Tool) -> None:
    Draft202012Validator.check_schema(tool.input_schema)
    assert tool.output_schema
    Draft202012Validator.check_schema(tool.output_schema)


def test_seven_point_nought_is_no_integer_whatever_json_schema_says() -> None:
    assert not takes(TOOLS[-1], {**GOOD, "limit": 7.0})


def test_every_argument_of_the_products_tools_says_what_it_is() -> None:
    for tool in look().catalog:
        for name, field in tool.input_schema["properties"].items():
            assert any("description" in part for part in (field, *field.get("anyOf", ()))), name


def test_the_names_limits_and_defaults_are_the_handlers_own() -> None:
    fields = tool_of(pack).input_schema["properties"]
    assert fields["limit"] == {"description": "How many.", "type": "integer", "minimum": 1, "maximum": 9, "default": 5}
    assert fields["from"]["default"] == "us"
    assert fields["next"]["anyOf"][0]["maxLength"] == 3
    assert fields["parts"]["maxItems"] == 2
    assert fields["colour"] == {"$ref": "#/$defs/Colour"}
    assert tool_of(pack).validate({"label": "x", "ticket_id": 1, "title": "Printer"}) == {
        "label": "x",
        "ticket_id": 1,
        "limit": 5,
        "size": None,
        "urgent": False,
        "next": None,
        "title": "Printer",
        "from": "us",
        "at": None,
        "parts": [],
        "weight": 1.5,
        "notes": {},
        "kind": "a",
        "anything": None,
    }


class Same(Input):
    label: Name


def a_handler(label: Any = FromQuery[str | None], data: Any = None, default: Any = None) -> Any:
    async def plain(label: Any = default) -> str: ...

    async def with_body(data: Any, label: Any = default) -> str: ...

    handler = plain if data is None else with_body
    handler.__annotations__ |= {"label": label} | ({"data": data} if data else {})
    return handler


def declared(path: str, **parts: Any) -> Any:
    return post(path, name="parcels.pack").agent(description="Pack.")(a_handler(**parts))


@pytest.mark.parametrize(
    ("handler", "why"),
    [
        (declared("/p/{label:str}", label=FromPath[str], data=JSONBody[Same]), '"label" from path and from body'),
        (declared("/p", label=FromQuery[str | None], data=JSONBody[Same]), '"label" from query and from body'),
        (declared("/p", data=JSONBody[list[int]]), "takes a body that is no struct"),
        (declared("/p", data=JSONBody[dict[str, int]]), "takes a body that is no struct"),
        (declared("/p", label=Annotated[str | None, HeaderParameter(name="x-label")]), '"x-label" from a header'),
        (declared("/p", label=FromQuery[list[str] | None]), "a query holds one text"),
        (declared("/p", label=FromQuery[str | None], default="blue"), "null only where that is the default"),
    ],
)
def test_what_no_caller_could_say_is_refused_when_the_app_is_built(handler: Any, why: str) -> None:
    with pytest.raises(WiringError, match=f"parcels.pack takes .*{why}|parcels.pack {why}"):
        tool_of(handler)


@pytest.mark.parametrize(
    ("method", "hints"), [(get, (True, False, True)), (post, (False, True, False)), (put, (False, True, True))]
)
def test_what_a_call_does_to_the_world_follows_from_its_method(method: Any, hints: tuple[bool, bool, bool]) -> None:
    tool = tool_of(method("/p", name="parcels.pack").agent(description="Pack.")(a_handler()))
    assert (tool.read_only, tool.destructive, tool.idempotent) == hints


@pytest.mark.parametrize("returned", [None, str, list[Parcel], Any, Parcel | None, Response])
def test_a_tool_promises_a_structure_only_where_its_route_answers_with_an_object(returned: Any) -> None:
    def promised(annotation: Any) -> Any:
        handler = a_handler()
        handler.__annotations__["return"] = annotation
        return tool_of(get("/p", name="parcels.pack").agent(description="Pack.")(handler)).output_schema

    assert promised(returned) is None
    assert promised(Response[Parcel]) == promised(Parcel) == {**promised(Parcel), "type": "object"}
