"""The command as a user runs it: fast help, one clear line for a refusal, one JSON document where asked."""

import json
import os
import stat
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import COMMANDS, load, main, table
from app.runtime.durable.lock import HostLock
from db.schema import HEAD


def triager(*arguments: str, data_dir: Path, **environ: str) -> Result:
    return CliRunner().invoke(main, arguments, env={"DATA_DIR": str(data_dir), **environ}, prog_name="triager")


@pytest.mark.parametrize("name", list(table()))
def test_every_command_in_the_table_loads_under_its_own_name(name: str) -> None:
    module, line = table()[name]
    assert load(module, name).name == name
    assert line.endswith(".")


def test_every_command_of_the_modules_is_in_the_table() -> None:
    modules = {module for module, _ in COMMANDS.values()}
    offered = {command.name for module in modules for command in import_module(module).commands}
    assert offered == set(COMMANDS)


def test_the_database_is_its_owners_alone_in_a_folder_of_everybodys_too(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert triager("db", "upgrade", data_dir=tmp_path).exit_code == 0
    assert triager("seed", data_dir=tmp_path).exit_code == 0
    found = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("*.sqlite*")}
    assert found
    assert set(found.values()) == {0o600}


def test_help_imports_neither_the_app_nor_the_database() -> None:
    script = "import sys; from app.cli import main; main(['--help'], standalone_mode=False)"
    script += "; print([name for name in ('alembic', 'sqlalchemy', 'litestar') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "import" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_app_itself_never_loads_alembic() -> None:
    script = "import sys, app.main; print('alembic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_the_schema_goes_up_and_down_and_is_told(tmp_path: Path) -> None:
    def current() -> object:
        return json.loads(triager("db", "current", "--json", data_dir=tmp_path).stdout)["current"]

    assert current() is None
    assert triager("db", "upgrade", data_dir=tmp_path).exit_code == 0
    assert current() == HEAD
    assert triager("db", "downgrade", "base", "--yes", data_dir=tmp_path).exit_code == 0
    assert current() is None


@pytest.mark.parametrize(
    ("arguments", "environ", "said"),
    [
        (("db", "current"), {"PORT": "many"}, "PORT must be a whole number"),
        (("db", "downgrade", "base", "--yes"), {}, "There is no database"),
        (("user", "list"), {}, "Run: triager db upgrade"),
    ],
)
def test_a_refusal_is_one_line_on_stderr_and_exit_1(
    arguments: tuple[str, ...], environ: dict[str, str], said: str, tmp_path: Path
) -> None:
    done = triager(*arguments, data_dir=tmp_path, **environ)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert said in done.stderr


def test_an_unknown_revision_is_refused(tmp_path: Path) -> None:
    triager("db", "upgrade", data_dir=tmp_path)
    done = triager("db", "downgrade", "nowhere", "--yes", data_dir=tmp_path)
    assert done.exit_code == 1
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [("upgrade",), ("downgrade", "base", "--yes")])
def test_the_schema_does_not_move_under_a_running_host(command: tuple[str, ...], tmp_path: Path) -> None:
    lock = HostLock(tmp_path / "host.lock")
    lock.take()
    done = triager("db", *command, data_dir=tmp_path)
    lock.release()
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"Process {os.getpid()} is serving this database. Nothing was done." in done.stderr


def test_an_unknown_command_exits_2(tmp_path: Path) -> None:
    done = triager("clsoe", data_dir=tmp_path)
    assert done.exit_code == 2
    assert "No such command" in done.stderr


def test_a_reader_that_went_away_is_no_traceback(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", "from app.cli import main; main(['db', 'current', '--json'])"],
        env={**os.environ, "DATA_DIR": str(tmp_path)},
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert "Traceback" not in done.stderr
