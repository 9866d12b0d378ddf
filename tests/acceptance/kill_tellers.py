"""Two processes that tell the stories beside each other, each on an installation of its own."""

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

from tests.acceptance.kill_harness import Kills
from tests.acceptance.kill_tally import TALLY, Told

Tell = Callable[[Kills], Told]
TELLERS = 2


class Tellers:
    """They begin at once, in the order of `stories`, which are at most 256."""

    def __init__(self, folder: Path, migrated: Path, stories: Mapping[str, Tell]) -> None:
        self._folder, self._names, self._tells = folder, list(stories), list(stories.values())
        self._told: dict[str, Told] = {}
        todo, give = os.pipe()
        os.write(give, bytes(range(len(stories))))  # a byte is a story: whoever takes it tells it
        os.close(give)
        self._done, done = os.pipe()  # a byte is a story that was told
        self._pids = [self._fork(folder / f"home-{number}", migrated, todo, done) for number in range(TELLERS)]
        os.close(todo)
        os.close(done)

    def told(self, name: str) -> Told:
        """Wait for a story."""
        while name not in self._told:
            byte = os.read(self._done, 1)
            assert byte, "the tellers died: their output says why"
            told = Told(**json.loads(self._file(byte[0]).read_text()))
            self._told[self._names[byte[0]]] = told
            TALLY.add(told)
        return self._told[name]

    def close(self) -> None:
        os.close(self._done)
        for pid in self._pids:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)  # also what it has started
            os.waitpid(pid, 0)

    def _file(self, number: int) -> Path:
        return self._folder / f"{number}.json"

    def _fork(self, home: Path, migrated: Path, todo: int, done: int) -> int:
        pid = os.fork()
        if pid == 0:
            self._tell(home, migrated, todo, done)
        return pid

    def _tell(self, home: Path, migrated: Path, todo: int, done: int) -> NoReturn:
        try:
            os.setsid()
            kills = Kills(home, migrated)
            while byte := os.read(todo, 1):
                told = _tell_one(kills, self._tells[byte[0]])
                self._file(byte[0]).write_text(json.dumps(asdict(told)))
                os.write(done, byte)
            os._exit(0)
        except BaseException:  # noqa: BLE001 (the child may not return into the test)
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)


def _tell_one(kills: Kills, tell: Tell) -> Told:
    try:
        return tell(kills)
    except Exception:  # noqa: BLE001 (the test shows it)
        return Told("failed", broken=[traceback.format_exc()[-4_000:]])
