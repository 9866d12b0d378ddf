"""Tickets in a file, a row at a time: good ones, and bad ones with the line they begin on and what is wrong with them.

Whether it is JSON lines or CSV is seen by its first character, not by its name: names lie, pipes have none, and no
header of tickets begins with a brace. Rows are read as they are asked for: a file may be larger than memory.
"""

from collections.abc import Iterator
from datetime import datetime
from io import BufferedReader

from app.domain import Refusal
from app.importer import csv_rows, json_rows
from app.importer.keep import ForeignTicket
from app.importer.row import BadRow, Row, shown, ticket

BOM = b"\xef\xbb\xbf"
WIDE = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")  # how UTF-16 and UTF-32 begin


def read(file: BufferedReader, now: datetime) -> Iterator[ForeignTicket | BadRow]:
    """Raises Refusal, at once or before the first row, when the file as a whole is none of tickets."""
    head = file.peek(1)
    if head.startswith(WIDE):
        raise Refusal("The file is UTF-16 or UTF-32. Nothing was imported. Save it as UTF-8.")
    first = head.removeprefix(BOM).lstrip()[:1]
    if not first:
        raise Refusal("The file is empty. Nothing was imported. Look at what wrote it.")
    if first == b"[":
        raise Refusal("The file is one JSON array. Nothing was imported. Write an object a line: jq -c '.[]' FILE")
    return _checked(json_rows.rows(file) if first == b"{" else csv_rows.rows(file), now)


def _checked(rows: Iterator[Row | BadRow], now: datetime) -> Iterator[ForeignTicket | BadRow]:
    seen: set[str] = set()
    for row in rows:
        if isinstance(row, BadRow):
            yield row
            continue
        try:
            one = ticket(row.values, now)
        except ValueError as error:
            yield BadRow(row.line, str(error))
            continue
        if one.external_id in seen:
            yield BadRow(row.line, f"external_id {shown(one.external_id)} stands above already")
        else:
            seen.add(one.external_id)
            yield one
