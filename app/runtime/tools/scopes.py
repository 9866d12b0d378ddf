"""Gate 1 of the pipeline: may this caller use this tool at all?"""


def granted(scopes: tuple[str, ...], tool: str) -> bool:
    """Exact names only, whole and case-sensitive: `tool:tickets_close` grants `tickets_close` and nothing else."""
    return f"tool:{tool}" in scopes
