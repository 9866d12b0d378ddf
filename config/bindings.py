"""The names that wrangler.jsonc binds, and under which the Worker finds what it binds."""

import re

DATABASE = "DB"  # the app's D1


def of_agent(class_name: str) -> str:
    """The binding of an agent's objects: of Triager, TRIAGER. HTTPAgent and HttpAgent are both HTTP_AGENT."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", class_name).upper()
