"""The product on Cloudflare: a Python Worker, a Durable Object per agent instance, D1. This folder can be deleted."""

COMMANDS = {"cloudflare": ("app.cloudflare.cli", "Build the product for Cloudflare's Workers.")}
