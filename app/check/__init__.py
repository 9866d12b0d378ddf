"""`triager check`: the house rules, as a program. Nothing depends on this folder; it can be deleted."""

COMMANDS = {"check": ("app.check.cli", "Hold the tree to its own rules.")}
