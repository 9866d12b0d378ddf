"""An agent's state: one struct, kept as JSON. Fields that a later deploy adds take their defaults."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import msgspec

from app.runtime.durable.storage import Storage
from app.runtime.steps import Step, reached

S = TypeVar("S", bound=msgspec.Struct)


class State(Generic[S]):
    def __init__(self, storage: Storage, kind: type[S]) -> None:
        self._storage, self._kind = storage, kind
        self._value: S | None = None
        self._held_back = False

    @property
    def value(self) -> S:
        if self._value is None:
            rows = self._storage.sql("SELECT value FROM state")
            self._value = msgspec.json.decode(rows[0]["value"], type=self._kind) if rows else self._kind()
        return self._value

    def set(self, value: S) -> None:
        self._value = value
        if not self._held_back:
            self.save()

    def save(self) -> None:
        text = msgspec.json.encode(self.value).decode()
        self._storage.sql("INSERT OR REPLACE INTO state (id, value) VALUES (1, ?)", text)
        reached(Step.SAVED)

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Changes stay in memory for the block, for the caller to `save`; an exception undoes them."""
        before, self._held_back = self.value, True
        try:
            yield
        except BaseException:
            self._value = before
            raise
        finally:
            self._held_back = False
