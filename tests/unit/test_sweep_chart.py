"""The chart of the sweeps: what is drawn is as tall as what was counted, on the scale that the page names."""

import re
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from routes.console.sweep_chart import DONE_HEIGHT, GAP, HEIGHT, LEAST, LEFT_HEIGHT, WIDTH, chart_of


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float


def sweep(**counts: Any) -> dict[str, Any]:
    return {"asked": 0, "closed": 0, "refused": 0, "deferred": 0, "error": None} | counts


def boxes(path: str) -> list[Box]:
    return [Box(*map(float, found)) for found in re.findall(r"M([\d.]+) ([\d.]+)h([\d.]+)v([\d.]+)h-[\d.]+z", path)]


def test_of_no_sweep_nothing_is_drawn() -> None:
    assert chart_of([]) == ({}, 0, 0)


def test_one_sweep_is_one_narrow_column_at_the_right_edge() -> None:
    [box] = boxes(chart_of([sweep(asked=10)]).paths["asked"])
    assert (box.y, box.height, box.y + box.height) == (0, DONE_HEIGHT, DONE_HEIGHT)
    assert WIDTH - 24 < box.x < box.x + box.width < WIDTH


def test_a_hundred_fit_side_by_side_the_oldest_on_the_left() -> None:
    found = boxes(chart_of([sweep(asked=number + 1) for number in range(100)]).paths["asked"])
    assert len(found) == 100
    assert found[0].x > 0
    assert found[-1].x + found[-1].width < WIDTH
    assert all(left.x + left.width < right.x for left, right in pairwise(found))
    assert [box.height for box in found] == sorted(box.height for box in found)


def test_what_was_done_is_stacked_and_never_overlaps() -> None:
    chart = chart_of([sweep(asked=5, closed=3, refused=2)])
    asked, closed, refused = (boxes(chart.paths[name])[0] for name in ("asked", "closed", "refused"))
    assert chart.done_top == 10
    assert [box.height for box in (asked, closed, refused)] == [42, 25.2, 16.8]
    assert (asked.y, closed.y, refused.y) == (42, 16.8, 0)


def test_what_was_left_dwarfs_nothing_for_it_has_a_band_and_a_scale_of_its_own() -> None:
    chart = chart_of([sweep(asked=10, deferred=990), sweep(asked=5, deferred=495)])
    assert (chart.done_top, chart.left_top) == (10, 1000)
    assert [box.height for box in boxes(chart.paths["asked"])] == [DONE_HEIGHT, DONE_HEIGHT / 2]
    first, second = boxes(chart.paths["deferred"])
    assert first.height == pytest.approx(LEFT_HEIGHT * 0.99, abs=0.1)
    assert first.height == pytest.approx(second.height * 2, abs=0.2)
    assert {box.y + box.height for box in (first, second)} == {HEIGHT}
    assert first.y > DONE_HEIGHT + GAP


def test_one_among_thousands_is_seen_and_nothing_is_not_drawn() -> None:
    chart = chart_of([sweep(deferred=10_000), sweep(deferred=1), sweep()])
    assert [box.height for box in boxes(chart.paths["deferred"])] == [LEFT_HEIGHT, LEAST]
    assert list(chart.paths) == ["deferred"]


def test_a_sweep_that_saw_nothing_is_marked_between_the_bands() -> None:
    chart = chart_of([sweep(asked=1), sweep(error="out of order")])
    [mark] = boxes(chart.paths["failed"])
    assert DONE_HEIGHT < mark.y < mark.y + mark.height < DONE_HEIGHT + GAP
    assert mark.x > boxes(chart.paths["asked"])[0].x


@pytest.mark.parametrize(
    ("most", "top"), [(1, 1), (7, 8), (9, 10), (10, 10), (11, 20), (21, 30), (64, 80), (999, 1000)]
)
def test_a_scale_ends_at_the_next_round_number(most: int, top: int) -> None:
    assert chart_of([sweep(asked=most)]).done_top == top
