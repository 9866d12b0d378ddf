"""The registry: which agents exist, and what each may call. Literal data, so that a check can read it unrun."""

AGENTS = {
    "triager": {
        "module": "app.agents.triager",
        "class": "Triager",
        "scopes": ["tool:tickets_index", "tool:tickets_close"],
        "calls_per_minute": 30,
    },
}
