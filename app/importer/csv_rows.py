"""CSV as RFC 4180 has it: a header, commas, quotes doubled within quotes; in UTF-8, with any line ends."""

import csv
from collections.abc import Iterator
from io import BufferedReader, TextIOWrapper
from typing import Any

from app.domain import Refusal
from app.importer.row import COLUMNS, NEEDED, BadRow, Row, shown

FIELD_MAX = 1_000_000  # characters: a quote that is never closed swallows no more than that
DIGITS_MAX = 18  # of a count


def rows(file: BufferedReader) -> Iterator[Row | BadRow]:
    # Bytes that are no UTF-8 become surrogates, which the check of a row tells with the column that holds them.
    with TextIOWrapper(file, "utf-8-sig", errors="surrogateescape", newline="") as text:
        csv.field_size_limit(FIELD_MAX)
        header: list[str] = []
        for line, fields in _records(text):
            if isinstance(fields, csv.Error):
                if not header:
                    raise Refusal(f"The first row is no header: {fields}. Nothing was imported.")
                yield BadRow(line, f"this is no CSV: {fields}")
            elif not header:
                header = _header(fields)
            elif len(fields) == len(header):
                yield Row(line, {name: _value(name, field) for name, field in zip(header, fields, strict=True)})
            elif fields:
                yield BadRow(line, f"{len(fields)} fields, where the header has {len(header)}")


def _records(text: TextIOWrapper) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """With the line each begins on. After one that is none, the next line begins another."""
    reader = csv.reader(text, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            yield line, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, error


def _header(names: list[str]) -> list[str]:
    unknown = sorted(set(names) - COLUMNS)
    twice = sorted({name for name in names if names.count(name) > 1})
    if missing := sorted(NEEDED - set(names)):
        problem = f"has no column {', '.join(missing)}"
    elif unknown:
        problem = f"has columns nobody knows: {', '.join(shown(name) for name in unknown)}"
    elif twice:
        problem = f"names {', '.join(twice)} twice"
    else:
        return names
    raise Refusal(
        f"The file {problem}. Nothing was imported. Columns are, with commas between: {', '.join(sorted(COLUMNS))}."
    )


def _value(name: str, field: str) -> Any:
    """Only the columns that may be empty and are mean nothing by it."""
    if name in ("closed_at", "comments") and not field:
        return None
    is_count = name == "comments" and field.isascii() and field.isdigit() and len(field) <= DIGITS_MAX
    return int(field) if is_count else field
