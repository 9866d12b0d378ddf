"""What every page is made with: the words for instants, subjects and callers, and the headers."""

from datetime import datetime, timedelta
from hashlib import sha256

import pytest

from app.domain import NotFound
from app.runtime.instants import to_text
from routes.pages import TEMPLATES, dated, exact, page, relative, static_url, subject, when, who
from routes.problems import problem_of


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (-59, "just now"),
        (59, "in a moment"),
        (-60, "1 minute ago"),
        (-59 * 60, "59 minutes ago"),
        (-60 * 60, "1 hour ago"),
        (23 * 3600, "in 23 hours"),
        (71.9 * 3600, "in 3 days"),
        (-12 * 86_400, "12 days ago"),
        (-61 * 86_400, "7 Jan 2026"),
    ],
)
def test_an_instant_reads_as_people_say_it(now: datetime, seconds: float, words: str) -> None:
    assert relative(now + timedelta(seconds=seconds), now) == words


def test_the_exact_time_stays_at_hand(now: datetime) -> None:
    assert when("2026-03-09T10:00:00.000Z", now) == (
        '<time datetime="2026-03-09T10:00:00.000Z" title="9 Mar 2026, 10:00 UTC">2 hours ago</time>'
    )
    assert ">1 Jan 2027, 00:00<" in exact("2027-01-01T00:00:00.000Z", now)
    assert ">10 Mar, 00:00<" in exact("2026-03-10T00:00:00.000Z", now)


def test_a_sentence_shows_its_instants_as_dates_and_nothing_else_as_markup(now: datetime) -> None:
    text = dated(f'"<b>Hi</b>" is quiet since {to_text(now)}.', now)
    assert text.startswith("&#34;&lt;b&gt;Hi&lt;/b&gt;&#34; is quiet since <time ")
    assert text.endswith(">9 Mar, 12:00</time>.")


def test_subjects_and_callers_are_named_as_people_name_them() -> None:
    assert subject("ticket:41") == "Ticket #41"
    assert subject("report:7") == "report:7"
    assert who("agent:triager:main") == "triager/main"
    assert who("token:9") == "token:9"


def test_every_page_forbids_scripts_and_styles_that_are_not_our_files() -> None:
    problem = problem_of(NotFound("Nothing was changed."))
    answer = page("error.html", status=404, problem=problem, back="/", signed_in=False)
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'self'; ")
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    for file in TEMPLATES.glob("*.html"):
        source = file.read_text()
        assert "style=" not in source, file
        assert "<style" not in source, file
        assert "hx-on" not in source, file
        assert source.count("<script") == source.count("<script src="), file


def test_htmx_is_the_one_we_checked() -> None:
    folder = TEMPLATES / "static" / "htmx"
    sums = dict(reversed(line.split()) for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert {file.name for file in folder.iterdir()} == {*sums, "SHA256SUMS"}
    assert {name: sha256((folder / name).read_bytes()).hexdigest() for name in sums} == sums


def test_a_static_file_changes_its_address_with_its_content() -> None:
    digest = sha256((TEMPLATES / "static" / "app.css").read_bytes()).hexdigest()
    assert static_url("app.css") == f"/static/app.css?v={digest[:12]}"
