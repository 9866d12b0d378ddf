"""The instances in memory. Few at a time: the one idle longest makes room, and its database is closed."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.runtime.durable.instance import Instance
from app.runtime.durable.storage import OPEN_MAX

AWAKE_MAX = OPEN_MAX  # more only while more are in the middle of a turn

Name = tuple[str, str]  # agent, instance


class Awake:
    def __init__(self, make: Callable[[str, str], Instance]) -> None:
        self._make = make
        self._instances: OrderedDict[Name, Instance] = OrderedDict()  # the one used last comes last
        self._users: Counter[Name] = Counter()

    @contextmanager
    def use(self, agent: str, instance: str) -> Iterator[Instance]:
        """The instance, woken if need be, and kept at least for the block."""
        name = (agent, instance)
        if name not in self._instances:
            self._instances[name] = self._make(agent, instance)
        self._instances.move_to_end(name)
        self._users[name] += 1
        try:
            yield self._instances[name]
        finally:
            self._users[name] -= 1
            self.evict(AWAKE_MAX)

    def evict(self, down_to: int = 0) -> None:
        """Drop idle instances from memory until so many are left. What they keep is on disk."""
        self._users = +self._users
        for name in [name for name in self._instances if name not in self._users]:
            if len(self._instances) <= down_to:
                return
            self._instances.pop(name).close()
