"""The story on workerd: what each invocation runs in statements, and what workerd's processes spend on it.

A Worker cannot read its own CPU: its clock stands still while it computes. So it is taken from outside, from /proc, of
all workerd processes of one `wrangler dev`, and the platform's own work (D1, objects, sockets) is in it. Linux.
"""

import json
import re
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
from msgspec import Struct

from app.runtime.instants import to_text, utc_now
from config.triage import POLICY

READY = re.compile(r"Ready on (http://\S+)")
ASKS: int = POLICY["max_asks_per_sweep"]
READS = {
    "a static file": "/static/app.css",  # what wrangler and workerd spend without any Python
    "GET /health": "/health",
    "GET /tickets": "/tickets?status=open&limit=50",
    "GET /ops/agents/triager": "/ops/agents/triager",
}
TIMES = 20
PATIENCE_S = 180.0


class OnWorkerd(Struct, frozen=True):
    """`request` and `turn` are statements, most at a time, where there are any; the times are per invocation."""

    request: int
    turn: int | None
    cpu_ms: float
    wall_ms: float


def measure(log: Path, token: str, tell: Callable[[str], None]) -> dict[str, OnWorkerd]:
    """`log` is where a `wrangler dev` that runs has its output. Leaves tickets of its own in that database."""
    ready = READY.search(log.read_text())
    if ready is None:
        raise FileNotFoundError(f"{log} says nowhere that wrangler is ready.")
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=ready[1], headers=headers, timeout=PATIENCE_S) as web:
        bench = Bench(log, web)
        for round_ in ("Warming up: the first answer waits for the interpreter", "Measuring"):
            tell(f"{ready[1]}: {round_}")
            found = {name: bench.take(TIMES, "GET", path) for name, path in READS.items()}
            for _ in range(ASKS):
                web.post("/tickets", json={"title": "Measured", "created_at": _long_ago()}).raise_for_status()
            found[f"sweep, {ASKS} asks"] = bench.take(1, "POST", "/ops/agents/triager/sweep")
            asked = [one["id"] for one in web.get("/approvals").json()["pending"]][:ASKS]
            paths = iter([f"/approvals/{one}/approve" for one in asked])
            found["yes, and its wake"] = bench.take(len(asked), "POST", lambda: next(paths))  # noqa: B023 (used at once)
    return found


class Bench:
    def __init__(self, log: Path, web: httpx.Client) -> None:
        self._log, self._web = log, web
        self._workerd = _workerd(log)

    def take(self, times: int, method: str, path: str | Callable[[], str]) -> OnWorkerd:
        traces, cpu, begun = [], self._cpu_ms(), time.perf_counter()
        for _ in range(times):
            traces.append(uuid4().hex)
            where = path if isinstance(path, str) else path()
            sent = {"traceparent": f"00-{traces[-1]}-0000000000000001-01"}
            self._web.request(method, where, headers=sent, json={} if method == "POST" else None).raise_for_status()
        wall = time.perf_counter() - begun
        time.sleep(1)  # for what goes on after an answer, and for the log
        cpu = self._cpu_ms() - cpu
        told = [line for line in _lines(self._log) if line.get("trace_id") in traces]
        turns = [line["statements"] for line in told if line["event"] == "turn"]
        requests = [line["statements"] for line in told if line["event"] == "request"]
        return OnWorkerd(
            max(requests, default=0), max(turns, default=None), round(cpu / times, 1), round(wall / times * 1000, 1)
        )

    def _cpu_ms(self) -> float:
        threads = [each for pid in self._workerd for each in Path(f"/proc/{pid}/task").iterdir()]
        return sum(int((one / "schedstat").read_text().split()[0]) for one in threads) / 1e6


def _workerd(log: Path) -> list[int]:
    """The workerd processes of the session whose output the log is."""
    sessions = {_session(pid) for pid in _pids() if _output(pid) == log.resolve()}
    found = [pid for pid in _pids() if _session(pid) in sessions and _name(pid) == "workerd"]
    if not found:
        raise FileNotFoundError(f"No running wrangler writes to {log}.")
    return found


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _session(pid: int) -> str:
    fields = _stat(pid)
    return fields[3] if fields else ""


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:  # it has ended
        return ""


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _output(pid: int) -> Path | None:
    try:
        return Path(f"/proc/{pid}/fd/1").readlink()
    except OSError:  # it has ended, or is not ours
        return None


def _lines(log: Path) -> list[dict[str, Any]]:
    """Those that the product wrote."""
    return [json.loads(line) for line in log.read_text(errors="replace").splitlines() if line.startswith('{"')]


def _long_ago() -> str:
    return to_text(utc_now() - timedelta(days=POLICY["stale_after_days"] + 20))
