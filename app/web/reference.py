"""The document in the words of the page at /schema: surfaces, their operations, and every field spelt out."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

Schema = dict[str, Any]
JSON = "application/json"
WORDS = {"string": "text", "integer": "whole number", "boolean": "true or false"}
LIMITS = (("minLength", "maxLength", " characters"), ("minItems", "maxItems", ""), ("minimum", "maximum", ""))


class Field(Struct):
    name: str
    where: str  # path, query or body
    kind: str  # "text, 1 to 256 characters"
    required: bool
    default: Any  # None where there is none
    description: str


class Operation(Struct):
    id: str
    method: str
    path: str
    summary: str
    note: str  # on its body
    public: bool
    tool: bool
    approval: bool
    fields: list[Field]
    answers: list[tuple[str, str, str]]  # status, what comes with it, the shape that says more
    refusals: list[tuple[str, str]]  # status, phrase


class Shape(Struct):
    """What an answer holds."""

    name: str
    description: str
    fields: list[Field]


def surfaces(document: Schema) -> dict[str, list[Operation]]:
    found: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            found.setdefault(operation["tags"][0], []).append(_operation(method, path, operation, document))
    return found


def shapes(document: Schema) -> list[Shape]:
    parts = document["components"]["schemas"].items()
    answers = [(name, part) for name, part in parts if "properties" in part and "additionalProperties" not in part]
    return [Shape(name, part.get("description", ""), list(_members(part, "", document))) for name, part in answers]


def _operation(method: str, path: str, operation: Schema, document: Schema) -> Operation:
    tool, responses, body = operation.get("x-tool"), operation["responses"], _body(operation, document)
    answers = {status: one["content"][JSON]["schema"] for status, one in responses.items() if JSON in one["content"]}
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        note=body.get("description", ""),
        public=not operation["security"],
        tool=tool is not None,
        approval=tool is not None and tool["approval"] == "required",
        fields=[*_parameters(operation, document), *_members(body, "body", document)],
        answers=[(status, kind(schema), _shape(schema)) for status, schema in answers.items()],
        refusals=[(status, one["description"]) for status, one in sorted(responses.items()) if status not in answers],
    )


def _body(operation: Schema, document: Schema) -> Schema:
    if "requestBody" not in operation:
        return {}
    return _resolved(operation["requestBody"]["content"][JSON]["schema"], document)


def _parameters(operation: Schema, document: Schema) -> Iterator[Field]:
    for one in operation["parameters"]:
        yield _field(one["name"], one["in"], one["schema"], document, required=one["required"])


def _members(struct: Schema, where: str, document: Schema) -> Iterator[Field]:
    for name, schema in struct.get("properties", {}).items():
        yield _field(name, where, schema, document, required=name in struct["required"])


def _field(name: str, where: str, schema: Schema, document: Schema, *, required: bool) -> Field:
    parts = [schema, *schema.get("anyOf", ())]
    said = next((part["description"] for part in parts if "description" in part), "")
    return Field(name, where, kind(schema, document), required, schema.get("default"), said)


def _resolved(schema: Schema, document: Schema) -> Schema:
    found: Schema = document["components"]["schemas"][_shape(schema)] if "$ref" in schema else schema
    return found


def _shape(schema: Schema) -> str:
    """The name of the struct that it is, or is a list of; empty when it is none."""
    return str(schema.get("items", schema).get("$ref", "")).rpartition("/")[2]


def kind(schema: Schema, document: Schema | None = None) -> str:
    """What it is, in words. With the document at hand, an enum is spelt out; a struct has its name."""
    if "anyOf" in schema:
        return " or ".join(kind(part, document) for part in schema["anyOf"])
    if "$ref" in schema and document is not None and "enum" in _resolved(schema, document):
        return kind(_resolved(schema, document))
    if "$ref" in schema:
        return _shape(schema)
    if "enum" in schema:
        return ", ".join(schema["enum"])
    if schema.get("format") == "date-time":
        return "instant"
    name = str(schema.get("type", "anything"))
    base = f"list of {kind(schema['items'], document)}" if "items" in schema else WORDS.get(name, name)
    return ", ".join([base, *_limits(schema)])


def _limits(schema: Schema) -> Iterator[str]:
    for low, high, unit in LIMITS:
        if low in schema and high in schema:
            yield f"{schema[low]} to {schema[high]}{unit}"
        elif high in schema:
            yield f"at most {schema[high]}{unit}"
        elif low in schema:
            yield f"at least {schema[low]}{unit}"
