"""The registry: which agents exist, and what each may call. Literal data, so that a check can read it unrun."""

from typing import Any

AGENTS: dict[str, dict[str, Any]] = {
    "triager": {
        "module": "app.agents.triager",
        "class": "Triager",
        "scopes": ["tool:tickets_index", "tool:tickets_close"],
        "calls_per_minute": 30,
    },
}
