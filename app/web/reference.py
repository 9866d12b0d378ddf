"""The document in the words of the page at /schema: surfaces, their operations, and every field spelt out."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

Schema = dict[str, Any]
COMPARED = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
    "minimum": "from {}",
    "maximum": "to {}",
}


class Field(Struct):
    name: str
    where: str  # path, query or body
    kind: str  # "integer, from 1, to 100"
    required: bool
    default: Any  # None where there is none
    description: str


class Operation(Struct):
    id: str
    method: str
    path: str
    summary: str
    public: bool
    tool: bool
    approval: bool
    fields: list[Field]
    answers: list[tuple[str, str]]  # status, what comes with it
    refusals: list[tuple[str, str]]  # status, phrase


def surfaces(document: Schema) -> dict[str, list[Operation]]:
    found: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            found.setdefault(operation["tags"][0], []).append(_operation(method, path, operation, document))
    return found


def _operation(method: str, path: str, operation: Schema, document: Schema) -> Operation:
    tool = operation.get("x-tool")
    problems = {status for status, one in operation["responses"].items() if "application/json" not in one["content"]}
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        public=not operation["security"],
        tool=tool is not None,
        approval=tool is not None and tool["approval"] == "required",
        fields=list(_fields(operation, document)),
        answers=[
            (status, kind(one["content"]["application/json"]["schema"]))
            for status, one in operation["responses"].items()
            if status not in problems
        ],
        refusals=[(status, operation["responses"][status]["description"]) for status in sorted(problems)],
    )


def _fields(operation: Schema, document: Schema) -> Iterator[Field]:
    for one in operation["parameters"]:
        yield _field(one["name"], one["in"], one["schema"], document, required=one["required"])
    if "requestBody" in operation:
        struct = _resolved(operation["requestBody"]["content"]["application/json"]["schema"], document)
        for name, schema in struct["properties"].items():
            yield _field(name, "body", schema, document, required=name in struct.get("required", ()))


def _field(name: str, where: str, schema: Schema, document: Schema, *, required: bool) -> Field:
    parts = [schema, *schema.get("anyOf", ())]
    said = next((part["description"] for part in parts if "description" in part), "")
    return Field(name, where, kind(schema, document), required, schema.get("default"), said)


def _resolved(schema: Schema, document: Schema) -> Schema:
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name] if name else schema


def kind(schema: Schema, document: Schema | None = None) -> str:
    """What it is, in words. With the document, words are spelt out; without, a struct has only its name."""
    if document is not None and "$ref" in schema:
        schema = _resolved(schema, document)
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(kind(part, document) for part in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(schema["enum"])
    base = f"list of {kind(schema['items'], document)}" if "items" in schema else schema.get("type", "anything")
    if schema.get("format") == "date-time":
        return "instant"
    limits = [words.format(schema[key]) for key, words in COMPARED.items() if key in schema]
    return ", ".join([base, *limits])
