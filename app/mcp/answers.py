"""What a call came to: a text, and where the tool advertises a structure, that very structure too.

Both are one JSON, made once: the SDK would take the structure apart and copy it, all the way down, twice.
"""

from typing import Any, NamedTuple

import msgspec
from mcp_types import CallToolResult, TextContent, Tool

from app.runtime.tools.companions import told
from app.runtime.tools.results import Denied, Done, Failed, Outcome, Pending, ToolResult


class Answer(NamedTuple):
    text: str
    structure: msgspec.Raw | None = None  # a JSON object, the same as the text
    is_error: bool = False

    def result(self) -> CallToolResult:
        """As the SDK has it, without the structure: `exchange` adds that on the way out."""
        return CallToolResult(content=[TextContent(type="text", text=self.text)], is_error=self.is_error)


def answer(tool: Tool, result: ToolResult) -> Answer:
    match result:
        case Done(outcome):
            return _answered(tool, outcome)
        case Pending():
            return structured(told(result))
        case Denied():
            return refused(_json({"reason": result.reason, "message": result.message, "until": result.until}))
        case Failed():
            return refused(f"{result.message} Whether it did anything is not known. You may repeat the very same call.")


def structured(body: Any) -> Answer:
    text = _json(body)
    return Answer(text, msgspec.Raw(text))


def refused(text: str) -> Answer:
    return Answer(text, is_error=True)


def _answered(tool: Tool, outcome: Outcome) -> Answer:
    text = outcome.body if isinstance(outcome.body, str) else _json(outcome.body)
    if outcome.is_error or outcome.mismatch:
        return refused(outcome.mismatch or text)
    return Answer(text, msgspec.Raw(text) if tool.output_schema else None)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
