"""One ticket as a file tells it, whatever the file's format: what may stand in each column, and what is said when not.

A problem names the column, what is wrong, and the value as a terminal may safely show it.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NoReturn

from msgspec import Struct

from app.domain import CONTROL, NAME_MAX, TEXT_MAX, TITLE_MAX, Category, Priority, Speaker, printable
from app.importer.keep import AGENT, ForeignComment, ForeignTicket
from app.runtime.instants import to_text

NEEDED = {"external_id", "title", "created_at"}
COLUMNS = NEEDED | {"body", "closed_at", "comments"}
KEYS = COLUMNS | {"requester", "assignee", "priority", "category", "labels"}
DETAILS = ("body", "closed_at", "requester", "assignee", "priority", "category")
COMMENT_KEYS = {"author", "name", "body", "created_at", "public"}
AUTHORS = (Speaker.REQUESTER.value, Speaker.OPERATOR.value, AGENT)
LABELS_MAX = 20
SHOWN_MAX = 40  # characters of a value
UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # surrogates also stand for bytes that were no UTF-8


LINE_BREAKING = re.compile(f"[{CONTROL}]")  # of what is one line


class Row(Struct, frozen=True):
    line: int  # where it begins
    values: dict[str, Any]


class BadRow(Struct, frozen=True):
    line: int
    problem: str  # printable


def ticket(row: Mapping[str, Any], now: datetime) -> ForeignTicket:
    """`comments` is a count (0: the requester spoke last, else nobody knows), a list, or None.

    Raises ValueError with the problem.
    """
    _known(row, NEEDED, KEYS)
    created_at = _instant("created_at", row["created_at"], now)
    details = {name: _detail(name, row[name], now) for name in DETAILS if name in row}
    if (closed_at := details.get("closed_at")) and closed_at < created_at:
        _bad("closed_at", row["closed_at"], "is before created_at")
    said = row.get("comments")
    return ForeignTicket(
        _text("external_id", row["external_id"], 1, NAME_MAX),
        _text("title", row["title"], 1, TITLE_MAX),
        created_at,
        _speaker(said),
        details,
        _labels(row["labels"]) if "labels" in row else None,
        tuple(_comments(said, now)) if isinstance(said, list) else (),
    )


def shown(value: object) -> str:
    """At most SHOWN_MAX printable characters, in quotation marks: no line ends, no terminal codes, nothing reversed."""
    text = value if isinstance(value, str) else repr(value)
    text = printable(text[: SHOWN_MAX + 1])
    return f'"{text}"' if len(text) <= SHOWN_MAX else f'"{text[: SHOWN_MAX - 1]}…"'


def _known(row: Mapping[str, Any], needed: set[str], known: set[str], where: str = "") -> None:
    if unknown := sorted(row.keys() - known):
        raise ValueError(f"{where}{shown(unknown[0])} is a key nobody knows; there are: {', '.join(sorted(known))}")
    if missing := sorted(needed - row.keys()):
        raise ValueError(f"{where}{missing[0]} is missing")


def _bad(name: str, value: object, problem: str) -> NoReturn:
    raise ValueError(f"{name} {shown(value)} {problem}")


def _text(name: str, text: object, least: int, most: int) -> str:
    if not isinstance(text, str):
        _bad(name, text, "is no text")
    if not least <= len(text) <= most:
        _bad(name, text, f"has {len(text)} characters; it needs {least} to {most}")
    if least and text.isspace():
        _bad(name, text, "is blank")
    if UNSTORABLE.search(text):
        _bad(name, text, "holds a NUL, half a surrogate pair, or bytes that are no UTF-8")
    if name == "title" and LINE_BREAKING.search(text):
        _bad(name, text, "holds a line end or another control character")
    return text


def _instant(name: str, text: object, now: datetime) -> str:
    if not isinstance(text, str):
        _bad(name, text, "is no text")
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        _bad(name, text, "is no instant; write 2026-03-09T12:00:00Z")
    if at.tzinfo is None:
        _bad(name, text, "names no time zone; end it with Z or an offset")
    if at > now:
        _bad(name, text, "is in the future")
    try:
        return to_text(at)
    except OverflowError:
        _bad(name, text, "is before the year 1 in UTC")


def _detail(name: str, given: object, now: datetime) -> str | None:
    """Null says that a ticket has none, where it may have none."""
    if given is None and name not in ("body", "priority"):
        return None
    match name:
        case "body":
            return _text(name, given, 0, TEXT_MAX)
        case "closed_at":
            return _instant(name, given, now)
        case "priority":
            return _word(name, given, tuple(Priority))
        case "category":
            return _word(name, given, tuple(Category))
        case _:
            return _text(name, given, 1, NAME_MAX)


def _speaker(comments: object) -> Speaker:
    """What is known before any comment was read: a ticket without one is its requester's word."""
    if comments is None:
        return Speaker.NONE
    if isinstance(comments, list) or (type(comments) is int and comments == 0):
        return Speaker.REQUESTER
    if type(comments) is int and comments > 0:
        return Speaker.NONE
    _bad("comments", comments, "is neither a count nor a list")


def _comments(given: list[object], now: datetime) -> list[ForeignComment]:
    """Oldest first; one that stands there twice is one."""
    said = dict.fromkeys(_comment(f"comments[{index}]", one, now) for index, one in enumerate(given))
    return sorted(said, key=lambda one: one.created_at)


def _comment(where: str, given: object, now: datetime) -> ForeignComment:
    if not isinstance(given, dict):
        _bad(where, given, "is no object")
    _known(given, COMMENT_KEYS - {"public"}, COMMENT_KEYS, f"{where}.")
    public = given.get("public", True)
    if not isinstance(public, bool):
        _bad(f"{where}.public", public, "is neither true nor false")
    author = _word(f"{where}.author", given["author"], AUTHORS)
    if author == Speaker.REQUESTER and not public:
        _bad(f"{where}.public", public, "makes an internal note of what the requester said")
    return ForeignComment(
        author,
        _text(f"{where}.name", given["name"], 1, NAME_MAX),
        _text(f"{where}.body", given["body"], 1, TEXT_MAX),
        _instant(f"{where}.created_at", given["created_at"], now),
        public,
    )


def _labels(given: object) -> tuple[str, ...]:
    if not isinstance(given, list) or len(given) > LABELS_MAX:
        _bad("labels", given, f"is no list of at most {LABELS_MAX}")
    return tuple(sorted({_text(f"labels[{index}]", label, 1, NAME_MAX) for index, label in enumerate(given)}))


def _word(name: str, given: object, words: tuple[str, ...]) -> str:
    if not isinstance(given, str) or given not in words:
        _bad(name, given, f"is not one of {', '.join(words)}")
    return given
