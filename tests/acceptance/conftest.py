"""Prints how often the tests have killed the product, and what that broke."""

import sys

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    harness, tally = (sys.modules.get(f"tests.acceptance.kill_{name}") for name in ("harness", "tally"))
    if harness and tally and tally.TALLY.kills:
        terminalreporter.section(f"kill -9, TRIAGER_KILL_SEED={harness.SEED}")
        for line in tally.TALLY.report():
            terminalreporter.write_line(line)
