"""One host a data directory. The lock dies with its process, whatever kills it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.runtime.durable.lock import Holder, HostLock

HOLD = """
import sys
from pathlib import Path
from app.runtime.durable.lock import HostLock
lock = HostLock(Path(sys.argv[1]))
assert lock.take() is None
lock.announce("http://127.0.0.1:3336")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def another_process_holds(path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        yield holder
        holder.kill()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "host.lock"


def test_a_second_host_is_refused_with_the_firsts_pid_and_address(path: Path) -> None:
    with another_process_holds(path) as first:
        assert HostLock(path).take() == Holder(first.pid, "http://127.0.0.1:3336")


def test_kill_9_frees_it_and_the_next_holder_is_not_mistaken_for_the_last(path: Path) -> None:
    with another_process_holds(path) as first:
        first.kill()
        first.wait()
    lock = HostLock(path)
    assert lock.take() is None
    assert HostLock(path).take() == Holder(os.getpid(), "")
    lock.release()


def test_a_refused_taker_disturbs_nothing(path: Path) -> None:
    lock = HostLock(path)
    lock.take()
    refused = HostLock(path)
    refused.take()
    refused.announce("http://elsewhere")
    refused.release()
    assert HostLock(path).take() == Holder(os.getpid(), "")
    lock.release()


def test_released_it_can_be_taken_again(path: Path) -> None:
    lock = HostLock(path)
    for _ in range(2):
        assert lock.take() is None
        lock.release()


def test_a_child_process_does_not_inherit_it(path: Path) -> None:
    lock = HostLock(path)
    lock.take()
    command = [sys.executable, "-c", "print('up', flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False) as child:
        assert child.stdout
        child.stdout.readline()
        lock.release()
        assert lock.take() is None
        lock.release()
        child.kill()


def test_a_holder_that_has_not_written_its_pid_yet_still_holds_it(path: Path) -> None:
    lock = HostLock(path)
    lock.take()
    path.write_text("")
    assert HostLock(path).take() == Holder(0)
    lock.release()
