"""Costs as a table, in the terminal and in README: the same columns, so that a test can hold one to the other."""

from collections.abc import Iterator

from app.measure.compare import Compared
from app.measure.growth import Grown
from app.measure.probe import Cost

COLUMNS = ("invocation", "statements", "budget", "left", "CPU ms", "p95", "wall ms", "KB", "server CPU ms")


def lines(costs: list[Cost], *, explain: bool) -> Iterator[str]:
    width = max(len(COLUMNS[0]), *(len(cost.name) for cost in costs))
    for name, *rest in (COLUMNS, *map(_row, costs)):
        yield f"{name:<{width}}  " + "  ".join(
            f"{cell:>{len(head)}}" for cell, head in zip(rest, COLUMNS[1:], strict=True)
        )
    for cost in costs if explain else ():
        yield f"\n{cost.name}"
        for one in cost.sql:
            yield f"  {one.sql}"
            yield from (f"      {step}" for step in one.plan)


def _row(cost: Cost) -> tuple[str, ...]:
    budget = "none" if cost.budget is None else str(cost.budget)
    wire = "" if cost.wire_cpu_ms is None else f"{cost.wire_cpu_ms:.2f}"
    times = (f"{value:.2f}" for value in (cost.cpu_ms, cost.cpu_p95_ms, cost.wall_ms))
    left = "" if cost.budget is None else str(cost.budget - cost.statements)
    return (cost.name, str(cost.statements), budget, left, *times, f"{cost.peak_kb:.0f}", wire)


def growth_lines(grown: list[Grown]) -> Iterator[str]:
    """Statements and CPU milliseconds of each invocation, a column for each number of tickets."""
    sizes = sorted({one.tickets for one in grown})
    yield f"{'':<18}" + "".join(f"{size:>18,}" for size in sizes)
    for name in dict.fromkeys(one.name for one in grown):
        cells = [f"{one.statements} / {one.cpu_ms:.2f} ms" for one in grown if one.name == name]
        yield f"{name:<18}" + "".join(f"{cell:>18}" for cell in cells)


def beside_lines(compared: Compared) -> Iterator[str]:
    for title, rows in (
        ("server CPU of GET /tickets", compared.lists),
        ("CPU of a call over its route", compared.calls),
    ):
        yield f"{title:<28}{'ms':>8}{'times ours':>12}"
        yield from (f"{one.name:<28}{one.cpu_ms:>8.3f}{one.ratio:>12.2f}" for one in rows)
