"""What a sweep decided about each ticket, as a table."""

from typing import Any

import rich_click as click

from app.domain import VERDICTS, printable


def print_verdicts(verdicts: list[dict[str, Any]]) -> None:
    """A table, a line for each ticket that was looked at."""
    if not verdicts:
        return
    head = {"ticket_id": "ticket", "verdict": "verdict", "title": "title", "reason": "why"}
    said = (one | {"verdict": VERDICTS[one["verdict"]]} for one in verdicts)
    rows = [head, *({name: printable(str(one[name])) for name in head} for one in said)]
    widths = {name: max(len(row[name]) for row in rows) for name in ("ticket_id", "verdict", "title")}
    click.echo()
    for row in rows:
        left = "  ".join(row[name].ljust(width) for name, width in widths.items())
        click.echo(f"{left}  {row['reason']}".rstrip())
