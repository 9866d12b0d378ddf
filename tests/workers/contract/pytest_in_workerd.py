"""As much of pytest as the contract suite names: the whole of it does not load in workerd."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Mark:
    name: str
    args: tuple[Any, ...] = ()

    def __call__(self, *args: Any) -> Callable[[Any], Any]:
        def marked(function: Any) -> Any:
            function.pytestmark = [*getattr(function, "pytestmark", ()), Mark(self.name, args)]
            return function

        return marked


class _Marks:
    def __getattr__(self, name: str) -> Mark:
        return Mark(name)


mark = _Marks()


@contextmanager
def raises(kind: type[BaseException], *, match: str = "") -> Iterator[None]:
    said = None
    try:
        yield
    except kind as error:
        said = str(error)
    assert said is not None, f"{kind.__name__} was not raised"
    assert re.search(match, said), f"{said} is not {match}"
