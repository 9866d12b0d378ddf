"""JSON with comments and trailing commas, as wrangler reads it: `//`, `/* */`, and a comma before a closing bracket."""

import json
import re
from typing import Any

STRING = r'"(?:[^"\\\n]|\\.)*"'
COMMENTS = re.compile(rf"({STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
TRAILING_COMMAS = re.compile(rf"({STRING})|,(?=\s*[\]}}])", re.DOTALL)


def parse(text: str) -> Any:
    """Raises ValueError saying what is wrong and in which line; lines and columns are those of `text`."""
    return json.loads(TRAILING_COMMAS.sub(_blank, COMMENTS.sub(_blank, text.removeprefix("\ufeff"))))


def _blank(found: re.Match[str]) -> str:
    """A string stays; anything else becomes as many blanks, line by line."""
    kept: str | None = found[1]
    return kept if kept is not None else re.sub(r"[^\n]", " ", found[0])
