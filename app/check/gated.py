"""A tool that a person must approve: can they see what they approve, and can a crash be survived?"""

import inspect
from collections.abc import Iterator
from itertools import islice

from litestar.handlers import HTTPRouteHandler
from msgspec import structs

from app.check.finding import Finding, error, warning
from app.runtime.tools.catalog import Tool
from app.runtime.tools.redact import redact


def gated_findings(handler: HTTPRouteHandler, tool: Tool, where: str) -> Iterator[Finding]:
    takes = handler.parsed_fn_signature.parameters
    if "operation" not in takes:
        said = f"{tool.name} cannot be repeated: spent without a verdict, it needs a look. Take `operation`, and let it"
        yield warning("gated-repeat", where, f"{said} spend the approval in the statement that does the work.")
    if tool.mark.preview is None:
        said = f"{tool.name} is put to a person without a word of what would change. Give it a preview=."
        yield error("gated-preview", where, said)
        return
    body = handler.parsed_data_field
    given = {*takes, *(field.name for field in structs.fields(body.annotation))} if body else {*takes}
    wanted = dict(islice(inspect.signature(tool.mark.preview).parameters.items(), 1, None))  # the first is the session
    for name, parameter in wanted.items():
        if name not in given and parameter.default is parameter.empty:
            said = f"The preview of {tool.name} needs `{name}`, and its handler takes none. Leave it out, or take it."
            yield error("gated-argument", where, said)
        elif name in tool.sources and _hidden(name, tool.mark.redact):
            said = f"The preview of {tool.name} needs `{name}`, which is redacted. Leave it out of one of them."
            yield error("gated-redacted", where, said)


def _hidden(name: str, redacted: tuple[str, ...]) -> bool:
    return bool(redact({name: None}, redacted)[name])
