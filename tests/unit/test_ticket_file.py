"""A file of tickets: what is kept byte for byte, and what is told as a bad row."""

from datetime import UTC, datetime
from io import BufferedReader, BytesIO
from json import dumps
from typing import Any

import pytest

from app.domain import Refusal, Speaker
from app.importer.file import read
from app.importer.keep import ForeignTicket
from app.importer.row import SHOWN_MAX, BadRow, shown

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)
HEADER = "external_id,title,created_at,body,closed_at,comments"


def parse(content: bytes) -> tuple[list[ForeignTicket], list[str]]:
    rows = list(read(BufferedReader(BytesIO(content)), NOW))
    bad = [f"{row.line}: {row.problem}" for row in rows if isinstance(row, BadRow)]
    return [row for row in rows if isinstance(row, ForeignTicket)], bad


def parsed(*rows: str, header: str = HEADER) -> tuple[list[ForeignTicket], list[str]]:
    return parse("\n".join([header, *rows]).encode(errors="surrogateescape"))


def only(row: str) -> ForeignTicket:
    [ticket], bad = parsed(row)
    assert bad == []
    return ticket


@pytest.mark.parametrize("title", ["=1+1", "👨‍👩‍👧 family", '"a, b"', "'; DROP TABLE tickets"])
def test_a_title_is_kept_as_it_is(title: str) -> None:
    assert only(f"a#1,{title},2026-03-01T00:00:00Z,,,").title == title.strip('"')


def test_a_byte_order_mark_and_crlf_do_not_hide_the_first_column() -> None:
    good, bad = parse(b"\xef\xbb\xbfexternal_id,title,created_at\r\na#1,Printer,2026-03-01T00:00:00Z\r\n")
    assert [ticket.external_id for ticket in good] == ["a#1"]
    assert bad == []


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("2026-03-01T23:30:00-08:00", "2026-03-02T07:30:00.000Z"),
        ("2026-03-01T23:30:00+05:45", "2026-03-01T17:45:00.000Z"),
        ("2026-03-01T23:30:00Z", "2026-03-01T23:30:00.000Z"),
    ],
)
def test_an_offset_moves_the_instant_to_utc(written: str, kept: str) -> None:
    assert only(f"a#1,Printer,{written},,,").created_at == kept


@pytest.mark.parametrize(
    ("at", "problem"),
    [
        ("2026-03-01 23:30", "names no time zone"),
        ("2026-02-30T00:00:00Z", "is no instant"),
        ("1772400000000", "is no instant"),
        ("", "is no instant"),
        ("0001-01-01T00:00:00+14:00", "before the year 1"),
        ("9999-12-31T23:59:59-14:00", "in the future"),
        ("2026-03-09T12:00:01Z", "in the future"),
    ],
)
def test_an_impossible_time_is_a_bad_row(at: str, problem: str) -> None:
    good, [told] = parsed(f"a#1,Printer,{at},,,")
    assert good == []
    assert problem in told


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (",Printer,2026-03-01T00:00:00Z,,,", 'external_id "" has 0 characters'),
        ("a#1,,2026-03-01T00:00:00Z,,,", 'title "" has 0 characters'),
        ("a#1, ,2026-03-01T00:00:00Z,,,", 'title " " is blank'),
        (f"a#1,{'x' * 300_000},2026-03-01T00:00:00Z,,,", "has 300000 characters"),
        ("a#1,nul\0,2026-03-01T00:00:00Z,,,", "NUL"),
        ("a#1,\udcff,2026-03-01T00:00:00Z,,,", "no UTF-8"),
        ("a#1,Printer,2026-03-01T00:00:00Z", "3 fields, where the header has 6"),
        ("a#1,Printer,2026-03-01T00:00:00Z,,,,", "7 fields, where the header has 6"),
        ("a#1,Printer,2026-03-02T00:00:00Z,,2026-03-01T00:00:00Z,", "before created_at"),
        ("a#1,Printer,2026-03-01T00:00:00Z,,,many", "neither a count nor a list"),
        (f"a#1,{'x' * 1_000_001},2026-03-01T00:00:00Z,,,", "field larger than field limit"),
        ('a#1,"Printer" jams,2026-03-01T00:00:00Z,,,', "no CSV"),
    ],
)
def test_a_bad_row_is_told_and_the_good_ones_are_kept(row: str, problem: str) -> None:
    good, [told] = parsed(row, "a#2,Printer,2026-03-01T00:00:00Z,,,")
    assert [ticket.external_id for ticket in good] == ["a#2"]
    assert told.startswith("2: ")
    assert problem in told


def test_a_bad_row_after_a_quoted_newline_is_told_by_the_line_it_begins_on() -> None:
    _, [told] = parsed('a#1,One,2026-03-01T00:00:00Z,"one\ntwo",,', "a#2,,2026-03-01T00:00:00Z,,,")
    assert told.startswith("4: ")


def test_the_same_external_id_twice_in_a_file_is_a_bad_row() -> None:
    good, [told] = parsed("a#1,One,2026-03-01T00:00:00Z,,,", "a#1,Two,2026-03-01T00:00:00Z,,,")
    assert [ticket.title for ticket in good] == ["One"]
    assert told == '3: external_id "a#1" stands above already'


@pytest.mark.parametrize(
    ("comments", "speaker"), [("", Speaker.NONE), ("0", Speaker.REQUESTER), ("3", Speaker.NONE), ("10", Speaker.NONE)]
)
def test_no_comments_means_that_the_requester_spoke_last_and_anything_else_that_nobody_knows(
    comments: str, speaker: Speaker
) -> None:
    assert only(f"a#1,Printer,2026-03-01T00:00:00Z,,,{comments}").last_speaker is speaker


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("external_id,title", "no column created_at"),
        ("external_id,title,created_at,owner", 'nobody knows: "owner"'),
        ("external_id,title,title,created_at", "twice"),
        ("", "no column created_at, external_id, title"),
    ],
)
def test_a_header_that_is_not_one_of_tickets_refuses_the_file(header: str, problem: str) -> None:
    with pytest.raises(Refusal, match=problem):
        parsed("a,b,c", header=header)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_a_file_of_wide_characters_is_refused_with_the_way_out(encoding: str) -> None:
    with pytest.raises(Refusal, match="Save it as UTF-8"):
        parse(f"\ufeff{HEADER}".encode(encoding))


@pytest.mark.parametrize("content", [b"", b"\n\r\n", b"\xef\xbb\xbf"])
def test_a_file_without_a_word_is_refused(content: bytes) -> None:
    with pytest.raises(Refusal, match="empty"):
        parse(content)


def test_a_json_array_is_refused_with_the_way_out() -> None:
    with pytest.raises(Refusal, match="jq"):
        parse(b'[{"external_id": "a#1"}]')


def test_an_unclosed_quote_costs_one_row_at_the_end_of_the_file() -> None:
    good, bad = parsed("a#1,One,2026-03-01T00:00:00Z,,,", 'a#2,"Two,2026-03-01T00:00:00Z,,,')
    assert [ticket.external_id for ticket in good] == ["a#1"]
    assert bad == ["3: this is no CSV: unexpected end of data"]


# JSON lines


def a_line(**values: Any) -> str:
    return dumps({"external_id": "a#1", "title": "Printer", "created_at": "2026-03-01T00:00:00Z"} | values)


def a_said(**values: Any) -> dict[str, Any]:
    said = {"author": "operator", "name": "Ana", "body": "Any news?", "created_at": "2026-03-02T00:00:00Z"}
    return said | values


def test_an_object_a_line_is_a_ticket_with_all_that_was_said() -> None:
    said = [a_said(created_at="2026-03-04T00:00:00+01:00"), a_said(author="agent", public=False)]
    named = {"requester": "Bo", "priority": "high", "category": None, "labels": ["b", "a", "b"], "closed_at": None}
    [ticket], bad = parse(b"\xef\xbb\xbf\n" + a_line(**named, comments=[*said, *said]).encode() + b"\r\n\n")
    assert bad == []
    assert ticket.details == {"requester": "Bo", "priority": "high", "category": None, "closed_at": None}
    assert ticket.labels == ("a", "b")
    assert [(one.author_kind, one.created_at, one.public) for one in ticket.comments] == [
        ("agent", "2026-03-02T00:00:00.000Z", False),
        ("operator", "2026-03-03T23:00:00.000Z", True),
    ]


def test_what_a_line_does_not_name_is_not_said() -> None:
    [ticket], _ = parse(a_line().encode())
    assert (ticket.details, ticket.labels, ticket.comments, ticket.last_speaker) == ({}, None, (), Speaker.NONE)


def test_a_line_separator_within_a_text_splits_nothing() -> None:
    [ticket], _ = parse(a_line(body="one\u2028two").replace("\\u2028", "\u2028").encode())
    assert ticket.details["body"] == "one\u2028two"


@pytest.mark.parametrize("end", ["\n", "\r", "\x07", "\x1b", "\x85", "\u2028", "\u2029"])
def test_a_title_is_one_line(end: str) -> None:
    good, [told] = parse(a_line(title=f"one{end}two").encode())
    assert (good, "holds a line end or another control character" in told) == ([], True)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"external_id": "a#1",', "this is no JSON"),
        ("17", '"17" is no JSON object'),
        ('{"title": "One", "title": "Two"}', 'the key "title" is there twice'),
        (a_line(comments=[{"name": "Ana"}]).replace('"name"', '"name": "Bo", "name"'), 'the key "name" is there twice'),
        (a_line(comments=float("nan")), '"NaN" is no JSON number'),
        (a_line(comments=1.0), 'comments "1.0" is neither'),
        (a_line(comments=True), 'comments "True" is neither'),
        (a_line(comments=-1), 'comments "-1" is neither'),
        (a_line(owner="Bo"), '"owner" is a key nobody knows'),
        (a_line(title="\ud83d"), 'title "\\ud83d" holds'),
        (a_line(body="nul\0"), 'body "nul\\x00" holds a NUL'),
        (a_line(title="x" * 300_000), "has 300000 characters"),
        (a_line(title=None), 'title "None" is no text'),
        (a_line(created_at=1772400000000), 'created_at "1772400000000" is no text'),
        (a_line(priority=None), 'priority "None" is not one of low'),
        (a_line(priority="P1"), 'priority "P1" is not one of low'),
        (a_line(labels="a"), 'labels "a" is no list'),
        (a_line(labels=[""]), 'labels[0] "" has 0 characters'),
        (a_line(comments=[a_said(author="staff")]), 'comments[0].author "staff" is not one of requester, operator'),
        (a_line(comments=[a_said(author="requester", public=False)]), "comments[0].public"),
        (a_line(comments=[a_said(), a_said(created_at="2026-03-02")]), "comments[1].created_at"),
        (a_line(comments=[a_said(html="")]), 'comments[0]."html" is a key nobody knows'),
        (a_line(comments=["hm"]), 'comments[0] "hm" is no object'),
        ('{"title": ' + "[" * 100_000, "nested too deeply"),
        ('{"comments": ' + "9" * 5_000 + "}", "4300 digits"),
    ],
)
def test_a_bad_line_is_one_bad_row_that_names_the_key(line: str, problem: str) -> None:
    good, [told] = parse("\n".join([a_line(external_id="a#0"), "", line, a_line(external_id="a#2")]).encode())
    assert [ticket.external_id for ticket in good] == ["a#0", "a#2"]
    assert told.startswith("3: ")
    assert problem in told
    assert told.isprintable()


def test_bytes_that_are_no_utf_8_are_told_with_their_key() -> None:
    _, [told] = parse(a_line(title="caf?").encode().replace(b"?", b"\xe9"))
    assert 'title "caf\\udce9" holds' in told


@pytest.mark.parametrize("value", ["\x1b[2J" * 20, "\u202etxt.exe", "x" * 99, "\ud83d", ["\n"] * 99, "a\nb"])
def test_a_value_is_shown_short_and_harmless(value: object) -> None:
    assert shown(value).isprintable()
    assert len(shown(value)) <= SHOWN_MAX + 2  # and its quotation marks
