"""`triager tool`: the tools, a call of one, and what was called.

A call from here has no way of its own: it passes the gates that an agent's call passes, and is written down like one.
"""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import rich_click as click
from litestar.exceptions import ValidationException

from app.cli import common
from app.cli.agent import ask
from app.cli.tool_log import log
from app.main import look
from app.runtime.spelling import did_you_mean
from app.runtime.tools.catalog import STATUS
from app.web.strict import no_repeated_key

EXIT = {"done": 0, "failed": 1, "pending": 3, "denied": 4}  # 2 is click's, for a command line it cannot use
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group("tool")
def tool() -> None:
    """List the tools, call one, and see what was called."""


@tool.command("list")
@as_json_option
def tool_list(as_json: bool) -> None:
    """List the tools: the routes marked .agent()."""
    found = [
        {
            "name": one.name,
            "method": one.method,
            "path": one.path,
            "approval": one.mark.approval,
            "read_only": one.read_only,
            "description": one.mark.description,
            "input_schema": one.input_schema,
            "output_schema": one.output_schema,
        }
        for one in look().catalog
    ]
    if as_json:
        common.print_json(found)
        return
    for one in found:
        approval = "a person approves each call" if one["approval"] == "required" else "runs at once"
        effect = "reads" if one["read_only"] else "changes"
        click.echo(f"{one['name']:<15} {one['method']:<5} {one['path']:<28} {effect:<8} {approval}")


def arguments(_context: click.Context, _parameter: click.Parameter, text: str) -> dict[str, Any]:
    """A JSON object, as it stands or from a file. Strict: a doubled key, NaN and half a surrogate pair are no JSON."""
    try:
        source = sys.stdin.read() if text == "-" else Path(text[1:]).read_text() if text.startswith("@") else text
        found = msgspec.json.decode(source)
        json.loads(source, object_pairs_hook=no_repeated_key)
    except OSError as error:
        raise click.BadParameter(f"{error.filename}: {error.strerror}") from None
    except ValidationException as error:
        raise click.BadParameter(f"{error.extra[0]['message']}") from None  # type: ignore[index]  # it says which key
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"this is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise click.BadParameter("a JSON object is wanted, with the tool's arguments by name")
    return found


@tool.command("call")
@click.argument("name")
@click.option("--input", "given", default="{}", callback=arguments, help="JSON object, or @FILE, or - for stdin.")
@click.option("--as", "email", required=True, help="The e-mail address of whom you act as.")
@click.option("--preflight", is_flag=True, help="Only say what would become of it: nobody is asked, nothing changes.")
@as_json_option
@click.pass_context
def tool_call(ctx: click.Context, name: str, given: dict[str, Any], email: str, preflight: bool, as_json: bool) -> None:
    """Call a tool as a person, whose sign-in you, the machine's owner, do not need.

    A tool that wants approval asks people first; once they said yes, the very same call carries it out. How a request
    stands: the tool approval_status.

    Exit code: 0 done, 1 failed or refused by the route, 2 not understood, 3 waiting for a person, 4 denied.
    """
    known = [one.name for one in look().catalog]
    if name not in (*known, STATUS):
        raise click.BadParameter(f'no tool is named "{name}".{did_you_mean(name, known)} See: triager tool list')
    asked = {"tool": name, "arguments": given, "email": email, "preflight": preflight}
    click.echo(f"Acting as {email}, as the owner of this machine.", err=True)
    came_to = ask("tool call", asked)
    if as_json:
        common.print_json(came_to)
    else:
        click.echo(f"{came_to['result']}: {common.for_terminal(msgspec.json.encode(came_to['answer']).decode())}")
    ctx.exit(EXIT[came_to["result"]])


tool.add_command(log)

commands: list[click.Command] = [tool]
