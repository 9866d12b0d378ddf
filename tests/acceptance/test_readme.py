"""README's commands work, as written, in a clone in an empty folder.

A fenced `sh` block with `<!-- runnable -->` on the line above it is run, line by line. What starts a server keeps
running beside the lines after it.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest

from config.settings import ROOT

BLOCK = re.compile(r"^<!-- runnable -->\n```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
PATIENCE_S = 180  # the first start in a clone builds its environment
INHERITED = {"CI", "VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "DATA_DIR", "APP_KEY", "HOST", "PYTEST_ADDOPTS"}


def commands() -> list[str]:
    lines = (
        line.partition("#")[0].strip()
        for block in BLOCK.findall((ROOT / "README.md").read_text())
        for line in block.splitlines()
    )
    return [line for line in lines if line and not line.startswith(("git clone", "cd "))]


def test_the_first_screen_starts_the_product_and_runs_its_tests() -> None:
    assert {"uv run triager dev", "uv run pytest"} <= set(commands())


@pytest.mark.skipif(shutil.which("uv") is None and not os.environ.get("CI"), reason="uv is not installed")
def test_every_runnable_command_works_in_a_clone(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    with ExitStack() as servers:
        for command in commands():
            if command == "uv run triager dev":
                servers.enter_context(serving(command, clone))
            else:
                run(command.replace("pytest", "pytest --collect-only -q"), clone)


def run(command: str, clone: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=clone,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@contextmanager
def serving(command: str, clone: Path) -> Iterator[None]:
    """Until the block ends; then a SIGTERM ends it in order."""
    log = clone.parent / "dev.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command.split(), cwd=clone, env=environment(), stdout=output, stderr=output, start_new_session=True
        )
        try:
            wait_until(lambda: is_healthy(log.read_text()), process, log)
            yield
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=30) == 0, log.read_text()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until(done: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not done():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()[-2_000:]
        time.sleep(0.1)


def is_healthy(printed: str) -> bool:
    """Raises HTTPError when something answers, but not with 200."""
    address = ADDRESS.search(printed)
    if address is None:
        return False
    try:
        with urlopen(f"{address[0]}/health", timeout=5) as answer:  # noqa: S310 (ADDRESS is http)
            return bool(answer.status == HTTPStatus.OK)
    except HTTPError:
        raise
    except URLError:
        return False


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in INHERITED} | {"PORT": "0"}
