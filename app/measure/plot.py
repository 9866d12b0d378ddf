"""Lines over a growing number of tickets, drawn as SVG by hand: a plot that needs no library to make or to look at."""

from collections.abc import Iterator
from itertools import groupby
from math import log10

from app.measure.growth import Grown

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 360, 56, 150, 36, 44
COLOURS = ("#14695a", "#a8322a", "#835500", "#3a5a9b", "#6b4a8a", "#4a4a4a")
STYLE = "text{font:13px sans-serif;fill:#5a6268}.grid{stroke:#8883;stroke-width:1}.line{fill:none;stroke-width:2.5}"


def svg(grown: list[Grown]) -> str:
    """CPU milliseconds by the number of tickets, a line for each invocation."""
    sizes = sorted({one.tickets for one in grown})
    top = _round_up(max(one.cpu_ms for one in grown))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            "<title>CPU of an invocation by the number of tickets stored</title>",
            f"<style>{STYLE}</style>",
            *_axes(sizes, top),
            *_lines(grown, sizes, top),
            "</svg>\n",
        ]
    )


def _axes(sizes: list[int], top: float) -> Iterator[str]:
    for step in range(5):
        value = top * step / 4
        y = _y(value, top)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
    for size in sizes:
        yield f'<text x="{_x(size, sizes):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{size:,}</text>'
    yield f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">tickets stored</text>'
    yield f'<text x="{LEFT - 40}" y="{TOP - 16}">CPU ms</text>'


def _lines(grown: list[Grown], sizes: list[int], top: float) -> Iterator[str]:
    """The names stand at the lines' ends, pushed apart where they would cover each other."""
    by_name = [
        (name, list(rows)) for name, rows in groupby(sorted(grown, key=lambda one: one.name), lambda one: one.name)
    ]
    below = -1.0
    for colour, (name, rows) in zip(COLOURS, sorted(by_name, key=lambda line: -line[1][-1].cpu_ms), strict=False):
        points = " ".join(f"{_x(one.tickets, sizes):.1f},{_y(one.cpu_ms, top):.1f}" for one in rows)
        yield f'<polyline class="line" stroke="{colour}" points="{points}"/>'
        below = max(_y(rows[-1].cpu_ms, top) + 4, below + 17)
        yield f'<text x="{WIDTH - RIGHT + 10}" y="{below:.1f}" style="fill:{colour}">{name}</text>'


def _x(size: int, sizes: list[int]) -> float:
    span = log10(sizes[-1] / sizes[0]) or 1.0
    return LEFT + 20 + (WIDTH - LEFT - RIGHT - 40) * log10(size / sizes[0]) / span


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top


def _round_up(value: float) -> float:
    """To 1, 2 or 5 times a power of ten."""
    power = 10.0 ** int(log10(value) if value >= 1 else log10(value) - 1)
    return next(power * step for step in (1, 2, 5, 10) if power * step >= value)
