"""JSON lines: an object a line, in UTF-8. A line ends at a line feed and nowhere else; empty lines are skipped."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO, NoReturn

from app.importer.row import BadRow, Row, shown


def rows(file: BinaryIO) -> Iterator[Row | BadRow]:
    for number, line in enumerate(file, 1):
        # Bytes that are no UTF-8 become surrogates, which the check of a row tells with the key that holds them.
        text = line.decode("utf-8-sig" if number == 1 else "utf-8", errors="surrogateescape").strip(" \t\r\n")
        if text:
            yield _row(number, text)


def _row(number: int, text: str) -> Row | BadRow:
    try:
        values = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        return BadRow(number, f"this is no JSON: {error.msg}, at character {error.colno}")
    except RecursionError:
        return BadRow(number, "this is nested too deeply")
    except ValueError as error:
        return BadRow(number, str(error))
    return Row(number, values) if isinstance(values, dict) else BadRow(number, f"{shown(values)} is no JSON object")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        [(key, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {shown(key)} is there twice")
    return values


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{shown(text)} is no JSON number")
