"""What a call came to, as a tool result: a text, and where the tool advertises a structure, that very structure too."""

from typing import Any

import msgspec
from mcp_types import CallToolResult, TextContent, Tool

from app.runtime.tools.companions import told
from app.runtime.tools.results import Denied, Done, Failed, Outcome, Pending, ToolResult


def answer(tool: Tool, result: ToolResult) -> CallToolResult:
    match result:
        case Done(outcome):
            return _answered(tool, outcome)
        case Pending():
            return structured(told(result))
        case Denied():
            return refused(_json({"reason": result.reason, "message": result.message, "until": result.until}))
        case Failed():
            return refused(f"{result.message} Whether it did anything is not known. You may repeat the very same call.")


def structured(body: dict[str, Any]) -> CallToolResult:
    return CallToolResult(content=[_text(_json(body))], structured_content=body)


def refused(text: str) -> CallToolResult:
    return CallToolResult(content=[_text(text)], is_error=True)


def _answered(tool: Tool, outcome: Outcome) -> CallToolResult:
    text = outcome.body if isinstance(outcome.body, str) else _json(outcome.body)
    if outcome.is_error or outcome.mismatch:
        return refused(outcome.mismatch or text)
    if tool.output_schema is None:
        return CallToolResult(content=[_text(text)])
    return structured(outcome.body)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
