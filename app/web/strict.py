"""What a request says is taken as it stands, or refused. Litestar alone takes "3", 3.0 and a doubled key for 3.

`main` gives the app this request class, the hook before each request, the decoder and the schema plugin.
"""

import json
import re
from collections import Counter
from functools import lru_cache
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec
from litestar import Request
from litestar.enums import RequestEncodingType
from litestar.exceptions import ClientException, HTTPException, ValidationException
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import OpenAPIType, Schema
from litestar.params import BodyKwarg, QueryParameter
from litestar.plugins import OpenAPISchemaPlugin
from litestar.types.composite_types import TypeDecodersSequence
from litestar.typing import FieldDefinition

from app.domain import MAX_ID, TicketId
from app.schemas import CURSOR, IDS, INSTANT, NO_NUL, ONE_LINE, PLACE, SPACED_LINE

PLAIN = {
    int: re.compile(r"0|-?[1-9][0-9]{0,15}"),
    float: re.compile(r"-?(0|[1-9][0-9]{0,15})(\.[0-9]+)?(e[+-]?[0-9]{1,2})?"),
    bool: re.compile("true|false"),
}
NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")  # escaped in JSON; as it stands it is no JSON
UNCHANGED = "Nothing was executed."
PATTERNS = {
    INSTANT: "a time in UTC, as 2026-11-29T17:00:00.000Z",
    ONE_LINE: "one line that is not blank",
    SPACED_LINE: "one line",
    NO_NUL: "text without the character U+0000",
    IDS: "up to 100 ticket numbers, as 41,42",
    CURSOR: "the `next` of the page before",
    PLACE: "the `next` of the page before",
}
LENGTH = re.compile(r"Expected `(str|array)` of length (<=|>=) (\d+)")


class StrictRequest(Request[Any, Any, Any]):
    """Decodes a JSON body straight into the type its handler names."""

    async def body(self) -> bytes:
        body = await super().body()
        data = self.route_handler.parsed_data_field
        if data and data.is_required and _is_json(data):
            if not body:
                raise ClientException(f"This route needs a JSON body, and got none. {UNCHANGED} Send at least {{}}.")
            if self.content_type[0] not in ("", RequestEncodingType.JSON):
                raise HTTPException(f"This route reads {RequestEncodingType.JSON.value}. {UNCHANGED}", status_code=415)
        return body

    async def json(self) -> Any:
        body = await self.body()
        data = self.route_handler.parsed_data_field
        try:
            decoded = msgspec.json.decode(body, type=data.annotation if data else Any)
            json.loads(body, object_pairs_hook=no_repeated_key)
        except msgspec.ValidationError as error:
            message, _, path = str(error).partition(" - at ")  # "Expected `int`, got `str` - at `$.version`"
            raise _misfit(path.strip("`") or "$", message) from error
        except (msgspec.DecodeError, RecursionError) as error:
            raise ClientException(f"The body is not JSON: {error}. {UNCHANGED}") from error
        if NUL.search(body):
            raise _misfit("$", "A text holds the character U+0000")
        return decoded


def _is_json(data: FieldDefinition) -> bool:
    how = data.kwarg_definition
    return isinstance(how, BodyKwarg) and how.media_type == RequestEncodingType.JSON


def no_repeated_key(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    decoded = dict(pairs)
    if len(decoded) < len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise _misfit(key, f"Key `{key}` is there twice")
    return decoded


def _misfit(key: str, message: str) -> ValidationException:
    return ValidationException(extra=[{"key": key, "message": message}])


async def refuse_unknown_query(request: Request[Any, Any, Any]) -> None:
    """Before each request: every key of the query is one the handler names, once, in one spelling of its value.

    Pages for browsers, which are not in the schema, take what others have added to their addresses.
    """
    if not request.scope["query_string"] or not request.route_handler.resolve_include_in_schema():
        return
    try:
        unquote_to_bytes(request.scope["query_string"]).decode()
    except UnicodeDecodeError as error:
        raise _misfit("query", "It is not UTF-8") from error
    known = _query_parameters(request.route_handler)
    seen: set[str] = set()
    for key, value in request.query_params.multi_items():
        fault = _fault(key, value, known, seen)
        if fault:
            raise _misfit(key, fault)
        seen.add(key)


@lru_cache
def _query_parameters(handler: HTTPRouteHandler) -> dict[str, FieldDefinition]:
    fields = handler.parsed_fn_signature.parameters.items()
    found = ((name, field, field.kwarg_definition) for name, field in fields)
    return {how.name or name: field for name, field, how in found if isinstance(how, QueryParameter)}


def _fault(key: str, value: str, known: dict[str, FieldDefinition], seen: set[str]) -> str | None:
    if key not in known:
        return f"There is no parameter `{key}`; there are: {', '.join(known) or 'none'}"
    if key in seen:
        return f"Parameter `{key}` is there twice"
    return None if _is_plain(value, known[key]) else f"`{value[:40]}` is no value for `{key}`"


def _is_plain(value: str, field: FieldDefinition) -> bool:
    """Whether it is the one way to write what it means: 7 and not 7.0 or 1e1, and no `null` for what is left out."""
    types = [one.annotation for one in (field.inner_types if field.is_union else (field,))]
    if str in types:
        return "\0" not in value
    return all(PLAIN[one].fullmatch(value) for one in types if one in PLAIN) and value != "null"


def _is_ticket_id(annotation: Any) -> bool:
    return annotation is TicketId


# Raises NotFound, a 404: an address that names no possible ticket is as good as any other that names none.
TYPE_DECODERS: TypeDecodersSequence = [(_is_ticket_id, lambda _, text: TicketId.from_text(text))]


class TicketIdSchema(OpenAPISchemaPlugin):
    @staticmethod
    def is_plugin_supported_type(value: Any) -> bool:
        return _is_ticket_id(value)

    def to_openapi_schema(self, field_definition: FieldDefinition, schema_creator: Any) -> Schema:
        return Schema(type=OpenAPIType.INTEGER, minimum=1, maximum=MAX_ID, description="The ticket's number.")


def in_words(fault: str) -> str:
    """What msgspec says does not fit, without the patterns, which nobody reads."""
    _, found, pattern = fault.partition(" matching regex ")
    if found:
        words = (words for known, words in PATTERNS.items() if repr(known) == pattern)
        return f"Expected {next(words, 'text of another form')}"
    return LENGTH.sub(_length, fault)


def _length(found: re.Match[str]) -> str:
    things = "characters" if found[1] == "str" else "items"
    return f"Expected at {'most' if found[2] == '<=' else 'least'} {found[3]} {things}"
