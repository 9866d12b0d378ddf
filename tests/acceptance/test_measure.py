"""`triager measure durable` prints what README's table shows."""

import re
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from app.measure import cli, durable
from config.settings import ROOT

ROW = re.compile(r"^\| `([a-z0-9_.]+)` \|", re.MULTILINE)


def flat(value: dict[str, Any], prefix: str = "") -> list[str]:
    """The keys of nested objects, with dots."""
    pairs = ((f"{prefix}{name}", each) for name, each in value.items())
    return [key for name, each in pairs for key in (flat(each, f"{name}.") if isinstance(each, dict) else [name])]


@pytest.fixture(scope="module")
def printed() -> dict[str, Any]:
    """By the command, in small."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"TURNS_S": 0.2, "WAKES": 20, "DRAINED": 40, "SLEEPERS": 200}.items():
            patch.setattr(durable, name, value)
        done = CliRunner().invoke(cli.measure, ["durable", "--json"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "20 answers, one by one" in done.stderr
    return dict(msgspec.json.decode(done.stdout))


def test_it_prints_exactly_these_keys_and_readme_has_a_row_for_each(printed: dict[str, Any]) -> None:
    _, _, rest = (ROOT / "README.md").read_text().partition("<!-- measured -->")
    assert ROW.findall(rest.partition("\n\n## ")[0]) == flat(printed)
    assert list(printed) == ["turns_per_s_full", "turns_per_s_normal", "wake_ms", "sleepers", "drain_1000_s"]
    assert list(printed["wake_ms"]) == ["p50", "p99"]
    assert list(printed["sleepers"]) == ["n", "rss_mb", "cpu_percent", "start_s"]


def test_every_number_is_of_something_that_happened(printed: dict[str, Any]) -> None:
    assert printed["sleepers"]["n"] == 200
    assert printed["sleepers"]["rss_mb"] > 1
    assert 0 < printed["wake_ms"]["p50"] <= printed["wake_ms"]["p99"]
    assert all(printed[name] > 0 for name in ("turns_per_s_full", "turns_per_s_normal", "drain_1000_s"))
