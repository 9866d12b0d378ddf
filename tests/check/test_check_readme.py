"""README with one untrue word in it: exactly that word is found, on its line."""

import re

import pytest

from app.check.claims import CLAIMS
from app.check.finding import Finding
from app.check.floors import DELETABLE
from app.check.readme import readme_findings
from app.check.tree import README, Tree
from tests.check.planted import edited, new_in, the_tree, told, with_text

LISTS = "<!-- reading-order -->\n" + "\n".join(f"{n}. `app/{n}.py`: words" for n in range(10))
LISTS += "\n<!-- deletable -->\n" + "\n".join(f"- `{package.replace('.', '/')}/`" for package in DELETABLE)
FILES = {f"app/{n}.py": "" for n in range(10)} | {f"{package.replace('.', '/')}/": "" for package in DELETABLE}


def in_lists(text: str, gone: str = "") -> list[Finding]:
    files = {path: "" for path in FILES if path != gone} | {"app/check": "", README: text}
    return list(readme_findings(Tree(the_tree().root / "nowhere", files)))


def test_a_readme_whose_lists_are_true_has_no_finding() -> None:
    assert in_lists(LISTS) == []


@pytest.mark.parametrize(
    ("text", "gone", "rule", "said"),
    [
        (LISTS.replace("reading-order", "order"), "", "readme-list", "no list after <!-- reading-order -->"),
        (LISTS.replace("deletable", "gone"), "", "readme-list", "no list after <!-- deletable -->"),
        (LISTS, "app/3.py", "readme-path", "app/3.py does not exist"),
        (LISTS.replace("3. `app/3.py`: words\n", ""), "", "readme-order", "9 files"),
        (LISTS.replace("- `app/check/`", ""), "", "readme-deletable", "app/check/ can be deleted"),
    ],
)
def test_a_list_that_is_not_true_is_found(text: str, gone: str, rule: str, said: str) -> None:
    [found] = in_lists(text, gone)
    assert (found.rule, found.level) == (rule, "error")
    assert said in found.message


@pytest.mark.parametrize(
    ("old", "new", "rule", "said"),
    [
        ("(LICENSE)", "(LICENCE)", "readme-link", "links to LICENCE"),
        ("`triager dev | serve", "`triager serve", "readme-commands", "`dev` is missing"),
        ("`triager dev | serve", "`triager dev | serve | fly", "readme-commands", "no command `fly`"),
        ("uv run triager demo\n", "uv run triager dmeo\n", "readme-command", 'Did you mean "demo"?'),
        ("`triager key rotate`", "`triager kye rotate`", "readme-command", 'Did you mean "key"?'),
        ("`APP_PREVIOUS_KEYS`", "`APP_PREVIOUS_KEY`", "readme-setting", 'Did you mean "APP_PREVIOUS_KEYS"?'),
        ('"stale_after_days": 7', '"stale_after_days": 8', "readme-policy", "not the one in config/triage.py"),
        ('"exempt_labels": ["keep-open"]', '"exempt_labels": keep', "readme-policy", "not the one in config/triage.py"),
    ],
)
def test_an_untrue_word_is_found(old: str, new: str, rule: str, said: str) -> None:
    [found] = new_in(edited(README, old, new))
    assert (found.rule, found.level) == (rule, "error")
    assert found.where.startswith(f"{README}:")
    assert said in found.message


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.pattern)
def test_a_figure_that_is_not_the_code_s_is_found_where_it_stands(claim: object) -> None:
    text = the_tree().files[README]
    match = re.search(claim.pattern.replace(" ", r"\s+"), text)  # type: ignore[attr-defined]
    assert match, "README says it"
    wrong = with_text(README, f"{text[: match.start(1)]}7777{text[match.end(1) :]}")
    [found] = new_in(wrong)
    assert (found.rule, found.level) == ("readme-figure", "error")
    assert found.where == f"{README}:{text.count(chr(10), 0, match.start()) + 1}"
    assert claim.source in found.message  # type: ignore[attr-defined]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.pattern)
def test_a_figure_that_is_no_longer_told_is_a_warning(claim: object) -> None:
    silent = re.sub(claim.pattern.replace(" ", r"\s+"), "", the_tree().files[README])  # type: ignore[attr-defined]
    assert [(found.rule, found.level) for found in new_in(with_text(README, silent))] == [("readme-silent", "warning")]


def with_sentence(sentence: str) -> list[tuple[str, str]]:
    text = the_tree().files[README]
    return told(new_in(with_text(README, f"{text}\n{sentence}\n")))


@pytest.mark.parametrize(
    "sentence",
    [
        "(49 - 5 pages - 2 withdrawals) / 2 = 21",
        "(50 - 6 pages - 2 withdrawals) / 2 = 21",
        "(50 - 5 pages - 2 withdrawals) / 2 = 22",
    ],
)
def test_a_derivation_that_does_not_follow_is_found(sentence: str) -> None:
    assert with_sentence("(50 - 5 pages - 2 withdrawals) / 2 = 21") == []
    assert [rule for rule, _ in with_sentence(sentence)] == ["readme-derived"]
