"""What most commands need: the settings, the database at its newest schema, an event loop, JSON on stdout."""

import asyncio
import json
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
import rich_click as click

from app import migrations
from app.cli import JSON_DUE
from app.domain import MISLEADING, Invalid, Refusal
from app.runtime.principal import Principal
from config.settings import Settings, load
from db.engine import Database, SqliteDatabase

T = TypeVar("T")

SHELL = Principal("operator", "shell", "the machine's owner", frozenset({"operate"}))


def settings() -> Settings:
    """Raises Refusal naming the bad variable."""
    try:
        return load()
    except ValueError as error:
        raise Refusal(str(error)) from None


@contextmanager
def database(settings: Settings) -> Iterator[Database]:
    """The app's database. Raises Refusal when there is none, or when its schema is another one."""
    check_schema(settings)
    opened = SqliteDatabase(settings.database)
    try:
        yield opened
    finally:
        opened.close()


def check_schema(settings: Settings) -> None:
    found, wanted = migrations.current(settings.database), migrations.head()
    if found != wanted:
        state = f"is at schema {found}, not {wanted}" if found else "has not been set up"
        raise Refusal(f"The database {settings.database} {state}. Nothing was done. Run: triager db upgrade")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def print_json(value: object) -> None:
    """The one JSON document on stdout."""
    if context := click.get_current_context(silent=True):
        context.meta[JSON_DUE] = False
    click.echo(for_terminal(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()))


def for_terminal(document: str) -> str:
    """The same JSON; what would drive a terminal or reorder its text stands there as escapes."""
    return MISLEADING.sub(lambda found: found[0] if found[0] == "\n" else json.dumps(found[0])[1:-1], document)


def note(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    """A note as it is given. Raises Invalid where it could not be printed."""
    if text and not text.isprintable():
        raise Invalid("A note is one line of printable characters. Nothing was changed. Say it in plain words.")
    return text
