"""`triager demo`: the whole story in a temporary directory, and a check of its books at the end."""

import asyncio
import sys
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import rich_click as click

from app.cli import common
from app.cli.books import Books, books, problems
from app.cli.seeding import seed
from app.cli.story import CAP, Story, story
from app.cli.tickets import bring_in, instant
from app.domain import Refusal
from app.importer.keep import Imported
from config.triage import POLICY
from db.engine import Database

SWEEPS_MAX = 1_000


@click.command("demo")
@click.option(
    "--tickets", "file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="CSV or JSON lines."
)
@click.option("--now", callback=instant, metavar="INSTANT", help="When the story begins, as 2025-10-17T12:00:00Z.")
@click.option("--answers", type=click.Choice(["approve", "reject"]), help="With --tickets; else approve.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the transcript.")
def demo(file: Path | None, now: datetime, answers: str | None, as_json: bool) -> None:
    """Tell the whole story: the triager asks, a person answers, one ticket closes because somebody said yes.

    With --tickets, import that file instead, sweep hourly, and answer everything until nothing is left to ask.
    """
    if answers and not file:
        raise click.UsageError("--answers goes with --tickets: the example's two requests get one answer each.")
    told, found = asyncio.run(_tell(file, now, answers or "approve", silent=as_json))
    broken = problems(told, found)
    if as_json:
        common.print_json(_summary(told, found))
    else:
        click.echo(f"Closed: {found.closed}. Declined: {found.declined}. Statements at most: {told.statements}.")
    for problem in broken:
        click.echo(f"The books do not balance: {problem}", err=True)
    if not as_json and not broken:
        click.echo("The books balance: every answer was carried out, each ticket at most once.")
    sys.exit(bool(broken))


async def _tell(file: Path | None, now: datetime, answers: str, *, silent: bool) -> tuple[Story, Books]:
    async def plant(db: Database, at: datetime) -> str | None:
        if file:
            await _import(db, file, at)
        return await seed(db, at)

    def say(line: str) -> None:
        if not silent:
            click.echo(line)

    with TemporaryDirectory(prefix="triager-demo-") as folder:
        say("  policy  " + ", ".join(f"{name} {_plain(value)}" for name, value in POLICY.items()))
        async with story(Path(folder), now, plant, say) as told:
            await (_unattended(told, answers) if file else _by_hand(told))
            return told, await books(told)


def _plain(value: object) -> str:
    return " ".join(value) or "none" if isinstance(value, list) else str(value).lower()


async def _import(db: Database, file: Path, now: datetime) -> None:
    """All of the file or nothing: a story about a part of it would mislead."""
    done, bad = await bring_in(db, file, now)
    if bad:
        raise Refusal(f"{file}:{bad[0].line}: {bad[0].problem}. {len(bad)} rows are bad. Nothing was told.")
    if done == Imported():
        raise Refusal(f"{file} has a header and no rows. Nothing was told.")


async def _by_hand(told: Story) -> None:
    """Approve the first request, reject the second, let the agent finish, sweep again."""
    await told.sweep()
    first, second = await told.pending()
    await told.answer(first, "approve")
    await told.answer(second, "reject")
    await told.sweep()


async def _unattended(told: Story, verb: str) -> None:
    """A sweep that asked less than it may has left nothing to ask."""
    swept = await told.sweep()
    for _ in range(SWEEPS_MAX):
        for request in await told.pending():
            await told.answer(request, verb)
        if swept["asked"] < CAP:
            return
        swept = await told.sweep_of_the_hour()


def _summary(told: Story, found: Books) -> dict[str, Any]:
    return {
        "sweeps": told.sweeps,
        "closed": found.closed,
        "declined": found.declined,
        "settled": list(told.settled.values()),
        "statements": told.statements,
    }


commands: list[click.Command] = [demo]
