"""`triager measure`: what the product costs on this machine. Nothing depends on this folder; it can be deleted."""

COMMANDS = {"measure": ("app.measure.cli", "Measure what the runtime costs on this machine.")}
