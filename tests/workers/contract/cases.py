"""The cases of the contract suite, by name: pytest's own, where it runs, and the Worker's, where they run."""

from collections.abc import Awaitable, Callable, Iterator
from importlib import import_module
from itertools import product
from typing import Any

MODULES = ("test_host_turns", "test_host_schedules", "test_host_alarms", "test_host_clock")
LEFT_OUT = (
    *("set_back", "far_ahead"),  # the platform keeps its own clock, and nobody sets that
    "broken_off",  # it polls where the turn runs, and starves it; test_workers_story.py aborts objects
)
Case = Callable[[Any], Awaitable[None]]  # given a host under test


def cases() -> dict[str, Case]:
    modules = [import_module(f"tests.contract.{name}") for name in MODULES]
    found = {name: case for module in modules for name, case in _of(module)}
    return {name: case for name, case in found.items() if not any(word in name for word in LEFT_OUT)}


def _of(module: Any) -> Iterator[tuple[str, Case]]:
    for name, function in vars(module).items():
        if name.startswith("test_"):
            for number, arguments in enumerate(_parametrized(function)):
                yield f"{module.__name__.rpartition('.')[2]}-{name}-{number}", _bound(function, arguments)


def _bound(function: Callable[..., Awaitable[None]], arguments: dict[str, Any]) -> Case:
    return lambda host: function(host=host, **arguments)


def _parametrized(function: Any) -> Iterator[dict[str, Any]]:
    marks = [mark for mark in getattr(function, "pytestmark", ()) if mark.name == "parametrize"]
    for chosen in product(*(_sets(*mark.args) for mark in marks)):
        yield {name: value for part in chosen for name, value in part.items()}


def _sets(names: str | tuple[str, ...], values: Any) -> list[dict[str, Any]]:
    split = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    given = [value.values if hasattr(value, "marks") else value for value in values]
    return [dict(zip(split, value if len(split) > 1 else [value], strict=True)) for value in given]
