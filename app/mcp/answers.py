"""What a call came to, as a tool result: a text that says the same as the structure, if there is one."""

from typing import Any

import msgspec
from mcp_types import CallToolResult, TextContent

from app.runtime.tools.catalog import Tool
from app.runtime.tools.results import Denied, Done, Failed, Outcome, Pending, ToolResult

TEXT_MAX = 50_000  # characters


def answer(tool: Tool, result: ToolResult) -> CallToolResult:
    match result:
        case Done(outcome):
            return _answered(tool, outcome)
        case Pending():
            return _structured({"status": "pending", "request_id": result.request_id, "message": result.message})
        case Denied():
            return _error(_json({"reason": result.reason, "message": result.message, "until": result.until}))
        case Failed():
            return _error(result.message)


def _answered(tool: Tool, outcome: Outcome) -> CallToolResult:
    text = outcome.body if isinstance(outcome.body, str) else _json(outcome.body)
    if outcome.is_error:
        return _error(text)
    if tool.output_schema.get("type") != "object":
        return _result(text)
    if isinstance(outcome.body, dict):
        return _structured(outcome.body)
    return _error(f"{tool.name} ran and answered {outcome.status}, but not with an object. Do not simply repeat it.")


def _structured(body: dict[str, Any]) -> CallToolResult:
    return _result(_json(body), structured_content=body)


def _error(text: str) -> CallToolResult:
    return _result(text, is_error=True)


def _result(text: str, **more: Any) -> CallToolResult:
    if len(text) > TEXT_MAX:
        text = f"{text[:TEXT_MAX]}… and {len(text) - TEXT_MAX} characters more."
    return CallToolResult(content=[TextContent(type="text", text=text)], **more)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
