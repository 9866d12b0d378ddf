"""Sweeps as shapes, the oldest on the left. Two bands, each with a scale of its own that starts at zero.

What a sweep left may be a thousand times what it asked. On one scale the asked would vanish, and a logarithm would lie
about the sums of a stack: so what was done stands above, what was left below, and each says its own maximum.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

WIDTH = 600  # units; the page stretches them. Heights are pixels
COLUMN_MAX = 24  # so that one sweep is no wall
DONE_HEIGHT, GAP, LEFT_HEIGHT = 84, 20, 44
HEIGHT = DONE_HEIGHT + GAP + LEFT_HEIGHT
LINES = (0.5, DONE_HEIGHT - 0.5, DONE_HEIGHT + GAP + 0.5, HEIGHT - 0.5)  # each band's top and zero
LEAST = 2  # what is not zero is never drawn as nothing
DONE, LEFT, FAILED = ("asked", "closed", "refused"), "deferred", "failed"
STEPS = (1, 2, 3, 4, 5, 6, 8, 10)


class Chart(NamedTuple):
    """`paths`: what to draw of each series, as an SVG path; none of one that is nothing but zeros.

    `done_top` and `left_top`: the values at the upper edges of the bands, 0 where all is zero.
    """

    paths: dict[str, str]
    done_top: int
    left_top: int


def chart_of(sweeps: Sequence[Mapping[str, Any]]) -> Chart:
    """`sweeps`: the oldest first, each with its counters and an `error`, None where it went well."""
    done_top = _round_up(max((sum(one[name] for name in DONE) for one in sweeps), default=0))
    left_top = _round_up(max((one[LEFT] for one in sweeps), default=0))
    paths: dict[str, str] = {}
    for name, rectangle in _rectangles(sweeps, done_top, left_top):
        paths[name] = paths.get(name, "") + rectangle
    return Chart(paths, done_top, left_top)


def _rectangles(sweeps: Sequence[Mapping[str, Any]], done_top: int, left_top: int) -> Iterator[tuple[str, str]]:
    step = min(COLUMN_MAX, WIDTH / max(1, len(sweeps)))
    for place, one in enumerate(sweeps):
        x, base = WIDTH - step * (len(sweeps) - place), float(DONE_HEIGHT)
        for name in DONE:
            height = _height(one[name], done_top, DONE_HEIGHT)
            base -= height
            if height:
                yield name, _rectangle(x, base, step, height)
        if height := _height(one[LEFT], left_top, LEFT_HEIGHT):
            yield LEFT, _rectangle(x, HEIGHT - height, step, height)
        if one["error"]:
            yield FAILED, _rectangle(x, DONE_HEIGHT + GAP / 4, step, GAP / 2)


def _height(value: int, top: int, most: int) -> float:
    return max(LEAST, value / top * most) if value else 0.0


def _rectangle(x: float, y: float, step: float, height: float) -> str:
    """With a fifth of the step as air."""
    left, wide = round(x + step / 10, 2), round(step * 0.8, 2)
    return f"M{left:g} {round(y, 1):g}h{wide:g}v{round(height, 1):g}h-{wide:g}z"


def _round_up(most: int) -> int:
    """The next number that is easy to read, and 0 for 0."""
    size = 10 ** (len(str(most)) - 1)
    return next(step * size for step in STEPS if step * size >= most) if most else 0
