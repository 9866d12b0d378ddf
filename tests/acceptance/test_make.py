"""`triager agent make`: what it writes passes everything that this project asks of its own code."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli import main, make
from app.cli.make import NAME_MAX, scaffold, with_entry, write
from app.domain import Refusal
from config.settings import ROOT
from tests.acceptance.copied import Copy

LONGEST = "a-1_b" + "c" * (NAME_MAX - 5)
REGISTRY = (ROOT / "config/agents.py").read_text()
ENTRY = scaffold("eve").entry


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("make"))


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As little of one as the command needs."""
    for folder in ("app/agents", "tests/integration", "tests/unit", "config"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "config/agents.py").write_text(REGISTRY)
    monkeypatch.setattr(make, "ROOT", tmp_path)
    return tmp_path


def files(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_what_it_writes_passes_all_that_our_own_code_passes(copy: Copy) -> None:
    before = copy.files()
    names = ("x", LONGEST)
    for name in names:
        copy.passes("app.cli", "agent", "make", name)
    new = copy.files().keys() - before.keys()
    assert len(new) == 3 * len(names)
    assert {path for path, text in copy.files().items() if before.get(path, text) != text} == {"config/agents.py"}
    copy.is_clean(*new, "config/agents.py")
    found = copy.found_by_check()  # what is to be pasted, as it says in the end
    assert [one["rule"] for one in found] == ["cloudflare-binding", "cloudflare-storage"] * len(names)
    assert all(one["where"] == "wrangler.jsonc" and " Paste: {" in one["message"] for one in found)
    copy.passes("pytest", "-q", *(path for path in new if path.startswith("tests/")))


@pytest.mark.parametrize(
    "name",
    [
        *("", "Eve", "1st", "_eve", "eve_", "eve--2", "eve.py", "../eve", "eve bob", "é", "eve\n"),
        *("e" * (NAME_MAX + 1), "class", "none", "exception", "round", "agent", "settled", "made"),
    ],
)
def test_a_name_that_no_agent_can_have_is_refused(name: str) -> None:
    with pytest.raises(Refusal, match=r"Nothing was written\."):
        scaffold(name)


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("eve", "app/agents/eve.py"),
        ("eve", "app/agents/eve_plan.py"),
        ("eve", "tests/integration/test_eve.py"),
        ("eve", "tests/unit/test_eve.py"),
        ("night-shift", "app/agents/night_shift.py"),
    ],
)
def test_where_anything_of_it_is_there_already_nothing_is_written(name: str, there: str, checkout: Path) -> None:
    (checkout / there).write_text("ours")
    before = files(checkout)
    done = CliRunner().invoke(main, ["agent", "make", name])
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"{there} is there already. Nothing was written." in done.stderr
    assert files(checkout) == before


def test_an_agent_that_is_registered_already_is_refused(checkout: Path) -> None:
    before = files(checkout)
    done = CliRunner().invoke(main, ["agent", "make", "triager"])
    assert (done.exit_code, 'There is an agent "triager"' in done.stderr) == (1, True)
    assert files(checkout) == before


def test_without_the_sources_it_says_so_and_writes_nothing(checkout: Path) -> None:
    """As in a wheel, which holds no tests."""
    (checkout / "tests/integration").rmdir()
    before = files(checkout)
    done = CliRunner().invoke(main, ["agent", "make", "eve"])
    assert (done.exit_code, done.stderr) == (
        1,
        f"{checkout} is no checkout of the sources: there is no tests/integration. Nothing was written.\n",
    )
    assert files(checkout) == before


def test_a_registry_keeps_every_character_it_had() -> None:
    lines = REGISTRY.splitlines(keepends=True)
    noted = "".join([*lines[:-1], "    # nobody else\n", "}  # for now\n", "\n# the end\n"])
    patched = with_entry(noted, "eve", ENTRY)
    assert patched.replace(ENTRY, "") == noted
    assert with_entry(noted.replace("\n", "\r\n"), "eve", ENTRY).replace(ENTRY, "") == noted.replace("\n", "\r\n")
    assert patched.index("# nobody else") < patched.index('"eve"') < patched.index("}  # for now")


def test_an_empty_registry_of_two_lines_takes_an_entry() -> None:
    assert with_entry("AGENTS = {\n}\n", "eve", ENTRY) == f"AGENTS = {{\n{ENTRY}}}\n"


UNPATCHED = [
    "AGENTS = {}\n",
    'AGENTS = {\n    "a": {}}\n',
    'AGENTS = {\n    "a": {}\n}\n',
    'AGENTS = {\n    "a": {\n    }}\n',
    "AGENTS = dict()\n",
    'MORE = {}\nAGENTS = {\n    **MORE,\n    "a": {},\n}\n',
    "AGENTS = MORE = {\n}\n",
    "AGENTS = {\n",
    "",
]


@pytest.mark.parametrize("source", UNPATCHED)
def test_a_registry_that_cannot_be_patched_safely_is_left_and_the_lines_are_printed(
    source: str, checkout: Path
) -> None:
    (checkout / "config/agents.py").write_text(source)
    done = CliRunner().invoke(main, ["agent", "make", "eve"])
    assert (done.exit_code, done.stderr) == (1, "")
    assert (checkout / "config/agents.py").read_text() == source
    assert ENTRY in done.stdout
    assert re.search(r"left     config/agents\.py: \w.*\. Put this into AGENTS there:", done.stdout)
    assert (checkout / "app/agents/eve.py").exists()


def test_a_write_that_fails_halfway_leaves_nothing(checkout: Path) -> None:
    before = files(checkout)
    new = {"app/agents/eve.py": "new", "app/agents/missing/eve_plan.py": "new"}
    with pytest.raises(FileNotFoundError):
        write(checkout, new, {"config/agents.py": "changed"})
    with pytest.raises(IsADirectoryError):
        write(checkout, {"app/agents/eve.py": "new"}, {"config": "changed"})
    assert files(checkout) == before


def test_a_file_that_appears_meanwhile_is_not_written_over(checkout: Path) -> None:
    (checkout / "app/agents/eve_plan.py").write_text("ours")
    with pytest.raises(FileExistsError):
        write(checkout, {"app/agents/eve.py": "new", "app/agents/eve_plan.py": "new"}, {})
    assert files(checkout)["app/agents/eve_plan.py"] == "ours"
    assert not (checkout / "app/agents/eve.py").exists()
