"""The command in this process, and a world entered for a moment before or after it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from click.testing import CliRunner, Result

from app.cli import main
from tests.support import NOW
from tests.world import KEY, World, a_world

T = TypeVar("T")


def triager(folder: Path, *arguments: str, **environ: str) -> Result:
    return CliRunner().invoke(main, arguments, env={"DATA_DIR": str(folder), "APP_KEY": KEY, **environ})


class Shell:
    """A line as it is typed, words apart by spaces, and the document that a `--json` of it prints."""

    def __init__(self, database: Path) -> None:
        self.database = database

    def __call__(self, line: str, *more: str) -> Result:
        return CliRunner().invoke(main, [*line.split(), *more])

    def json(self, line: str) -> Any:
        return json.loads(self(f"{line} --json").stdout)


def printed(done: Result) -> Any:
    """The one JSON document on stdout of a command that succeeded."""
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def in_a_world(
    folder: Path, migrated: Path, act: Callable[[World], Awaitable[T]], now: datetime = NOW, **settings: Any
) -> T:
    """What `act` finds, between a start and a stop."""

    async def enter() -> T:
        async with a_world(folder, migrated, now, **settings) as world:
            return await act(world)

    return asyncio.run(enter())
