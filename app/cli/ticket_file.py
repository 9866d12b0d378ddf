"""Tickets in a CSV file: good rows and bad ones, each bad row with the line it begins on and what is wrong with it.

Columns: external_id, title, created_at, and where there are any body, closed_at and comments. Comments are a number:
0 means that the requester spoke last, anything else that nobody knows who did.
"""

import csv
import io
from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from app.domain import NAME_MAX, TEXT_MAX, TITLE_MAX, Refusal, Speaker
from app.runtime.instants import to_text
from app.services.imports import ForeignTicket

NEEDED = {"external_id", "title", "created_at"}
COLUMNS = NEEDED | {"body", "closed_at", "comments"}
LENGTHS = {"external_id": (1, NAME_MAX), "title": (1, TITLE_MAX), "body": (0, TEXT_MAX)}  # characters


class BadRow(Struct, frozen=True):
    line: int
    problem: str


def parse(content: bytes, now: datetime) -> tuple[list[ForeignTicket], list[BadRow]]:
    """Raises Refusal when the header is not one of tickets."""
    good: dict[str, ForeignTicket] = {}
    bad: list[BadRow] = []
    for line, row in _rows(content.decode("utf-8-sig", errors="surrogateescape")):
        try:
            ticket = _ticket(row, now)
        except (ValueError, OverflowError) as error:
            bad.append(BadRow(line, str(error)))
            continue
        if good.setdefault(ticket.external_id, ticket) is not ticket:
            bad.append(BadRow(line, f'external_id "{ticket.external_id}" stands above already'))
    return list(good.values()), bad


def _rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, row); a row with too few or too many fields has other keys than the header."""
    csv.field_size_limit(max(len(text), 1))  # a field that is too long is one bad row, not the end of the file
    reader = csv.reader(io.StringIO(text, newline=""))
    header = next(reader, [])
    _check_header(header)
    start = reader.line_num + 1
    for fields in reader:
        if fields:
            yield start, dict(zip(header, fields, strict=False)) if len(fields) == len(header) else {}
        start = reader.line_num + 1


def _check_header(header: list[str]) -> None:
    unknown = sorted(set(header) - COLUMNS)
    twice = sorted({name for name in header if header.count(name) > 1})
    if missing := sorted(NEEDED - set(header)):
        problem = f"has no column {', '.join(missing)}"
    elif unknown or twice:
        problem = f"has columns nobody knows: {', '.join(unknown)}" if unknown else f"names {', '.join(twice)} twice"
    else:
        return
    raise Refusal(f"The file {problem}. Nothing was imported. Columns are: {', '.join(sorted(COLUMNS))}.")


def _ticket(row: dict[str, str], now: datetime) -> ForeignTicket:
    if not row:
        raise ValueError("has another number of fields than the header")
    for name, (least, most) in LENGTHS.items():
        _check_text(name, row.get(name, ""), least, most)
    created_at = _instant("created_at", row["created_at"], now)
    closed_at = _instant("closed_at", row["closed_at"], now) if row.get("closed_at") else None
    if closed_at and closed_at < created_at:
        raise ValueError("closed_at is before created_at")
    return ForeignTicket(
        row["external_id"], row["title"], row.get("body", ""), created_at, closed_at, _speaker(row.get("comments", ""))
    )


def _check_text(name: str, text: str, least: int, most: int) -> None:
    if not least <= len(text) <= most:
        raise ValueError(f"{name} has {len(text)} characters; it needs {least} to {most}")
    if text.isspace() and least:
        raise ValueError(f"{name} is blank")
    if "\0" in text or text.encode(errors="replace").decode() != text:
        raise ValueError(f"{name} holds a NUL or bytes that are no UTF-8")


def _instant(name: str, text: str, now: datetime) -> str:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f'{name} "{text[:40]}" is no instant; write 2026-03-09T12:00:00Z') from None
    if at.tzinfo is None:
        raise ValueError(f'{name} "{text[:40]}" names no time zone; end it with Z or an offset')
    if at > now:
        raise ValueError(f'{name} "{text[:40]}" is in the future')
    return to_text(at)


def _speaker(comments: str) -> Speaker:
    if comments and not (comments.isascii() and comments.isdigit()):
        raise ValueError(f'comments "{comments[:40]}" is not a number')
    return Speaker.REQUESTER if comments.strip("0") == "" and comments else Speaker.NONE
