"""The `triager` command. A command's module is imported only when that command runs, so `--help` stays fast.

Each module offers `commands`, a list of click commands. A deletable folder brings a table like `COMMANDS` in its own
`__init__.py`.
"""

import json
from importlib import import_module
from importlib.util import find_spec

import rich_click as click

from app.domain import Refusal, printable
from config.settings import SettingMissing

# name: (module, what it does)
COMMANDS = {
    "dev": ("app.cli.serve", "Start here: set everything up, serve, and print a sign-in link."),
    "serve": ("app.cli.serve", "Serve a set-up installation."),
    "demo": ("app.cli.demo", "Tell the whole story in a temporary directory."),
    "seed": ("app.cli.tickets", "Put the example tickets and an operator into an empty database."),
    "import": ("app.cli.tickets", "Import tickets from CSV or JSON lines."),
    "user": ("app.cli.people", "Add, list and disable people."),
    "token": ("app.cli.tokens", "Issue, list and revoke tokens."),
    "sweep": ("app.cli.sweep", "Let the triager look at the queue now."),
    "agent": ("app.cli.agent", "Look at the agents' instances, and wake one."),
    "halt": ("app.cli.brakes", "Halt an agent, or all: no job, no call, no answer."),
    "resume": ("app.cli.brakes", "Let what is halted go on."),
    "tool": ("app.cli.tools", "List the tools, call one, and see what was called."),
    "key": ("app.cli.key", "Print a new APP_KEY, or re-seal what waits under it."),
    "backup": ("app.cli.backup", "Write everything but the keys into one file."),
    "restore": ("app.cli.backup", "Bring a backup back."),
    "db": ("app.cli.db", "Move the database's schema."),
}
JSON_DUE = "triager.json_due"  # in the context's meta: --json was asked for, and nothing printed yet
DELETABLE = ("app.check", "app.measure", "app.cloudflare", "app.mcp")


def table() -> dict[str, tuple[str, str]]:
    """Every command of this checkout, those of the deletable folders that are there included."""
    found = [import_module(package) for package in DELETABLE if find_spec(package)]
    return COMMANDS | {name: row for package in found for name, row in getattr(package, "COMMANDS", {}).items()}


def load(module: str, name: str) -> click.Command:
    commands: list[click.Command] = import_module(module).commands
    return next(command for command in commands if command.name == name)


class LazyGroup(click.RichGroup):
    """Lists commands from the table, and imports the one that runs.

    A refusal is one line on stderr and exit 1; with --json it is a document on stdout as well: `{"error": …}`.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(table())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        row = table().get(cmd_name)
        return click.RichCommand(name=cmd_name, help=row[1]) if row else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, load(table()[name][0], name) if name and command else command, rest

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[JSON_DUE] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            _say_in_json(ctx, error.format_message())
            raise
        except (Refusal, SettingMissing) as error:
            said = str(error)
        except BrokenPipeError:
            raise
        except OSError as error:
            said = f"{error.filename or 'The system'}: {error.strerror}. The command stopped there."
        click.echo(printable(said), err=True)
        _say_in_json(ctx, said)
        return ctx.exit(1)


def _say_in_json(ctx: click.Context, said: str) -> None:
    """Whoever asked for a JSON document gets one, also when there is only an error to tell."""
    if ctx.meta[JSON_DUE]:
        click.echo(json.dumps({"error": said}))


@click.command(cls=LazyGroup)
def main() -> None:
    """A ticketing app whose agent asks a person before it closes anything."""
