"""`triager sweep`: let the triager look at the queue now, or only say what it would do."""

from collections import Counter
from typing import Any

import rich_click as click

from app.cli import common
from app.cli.agent import as_json_option, ask
from app.cli.verdicts import print_verdicts
from app.domain import VERDICTS, Refusal

COUNTERS = ("open", "stale", "asked", "closed", "refused", "deferred")


@click.command("sweep")
@click.option("--dry-run", is_flag=True, help="Change nothing: say what a sweep would do about which ticket, and why.")
@as_json_option
def sweep(dry_run: bool, as_json: bool) -> None:
    """Let the triager look at the queue now: through the running host, or, when none runs, in one turn of its own."""
    found = ask("plan" if dry_run else "sweep")
    if as_json:
        common.print_json(found)
    elif found["error"]:
        pass  # nothing was seen, so there is nothing to count
    elif dry_run:
        _print_plan(found)
    else:
        click.echo(", ".join(f"{name} {found[name]}" for name in COUNTERS))
    if found["error"]:
        raise Refusal(f"The sweep saw nothing: {found['error']}")


def _print_plan(plan: dict[str, Any]) -> None:
    counted = Counter(VERDICTS[one["verdict"]] for one in plan["verdicts"])
    sums = ", ".join(f"{count} {word}" for word, count in counted.items()) or "nothing to look at"
    click.echo(f"open {plan['open']}, stale {plan['stale']}. A sweep now: {sums}. Nothing was changed.")
    print_verdicts(plan["verdicts"])


commands: list[click.Command] = [sweep]
