"""A file of tickets: what is kept byte for byte, and what is told as a bad row."""

from datetime import UTC, datetime

import pytest

from app.cli.ticket_file import parse
from app.domain import Refusal, Speaker
from app.services.imports import ForeignTicket

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)
HEADER = "external_id,title,created_at,body,closed_at,comments"


def parsed(*rows: str, header: str = HEADER) -> tuple[list[ForeignTicket], list[str]]:
    good, bad = parse("\n".join([header, *rows]).encode(errors="surrogateescape"), NOW)
    return good, [f"{row.line}: {row.problem}" for row in bad]


def only(row: str) -> ForeignTicket:
    [ticket], bad = parsed(row)
    assert bad == []
    return ticket


@pytest.mark.parametrize("title", ["=1+1", "👨‍👩‍👧 family", '"a, b"', '"one\ntwo"', "'; DROP TABLE tickets"])
def test_a_title_is_kept_as_it_is(title: str) -> None:
    assert only(f"a#1,{title},2026-03-01T00:00:00Z,,,").title == title.strip('"')


def test_a_byte_order_mark_and_crlf_do_not_hide_the_first_column() -> None:
    good, bad = parse(b"\xef\xbb\xbfexternal_id,title,created_at\r\na#1,Printer,2026-03-01T00:00:00Z\r\n", NOW)
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
        ("0001-01-01T00:00:00+14:00", "out of range"),
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
        (",Printer,2026-03-01T00:00:00Z,,,", "external_id has 0 characters"),
        ("a#1,,2026-03-01T00:00:00Z,,,", "title has 0 characters"),
        ("a#1, ,2026-03-01T00:00:00Z,,,", "title is blank"),
        (f"a#1,{'x' * 300_000},2026-03-01T00:00:00Z,,,", "title has 300000 characters"),
        ("a#1,nul\0,2026-03-01T00:00:00Z,,,", "NUL"),
        ("a#1,\udcff,2026-03-01T00:00:00Z,,,", "no UTF-8"),
        ("a#1,Printer,2026-03-01T00:00:00Z", "another number of fields"),
        ("a#1,Printer,2026-03-01T00:00:00Z,,,,", "another number of fields"),
        ("a#1,Printer,2026-03-02T00:00:00Z,,2026-03-01T00:00:00Z,", "before created_at"),
        ("a#1,Printer,2026-03-01T00:00:00Z,,,many", "not a number"),
    ],
)
def test_a_bad_row_is_told_and_the_good_ones_are_kept(row: str, problem: str) -> None:
    good, [told] = parsed(row, "a#2,Printer,2026-03-01T00:00:00Z,,,")
    assert [ticket.external_id for ticket in good] == ["a#2"]
    assert told.startswith("2: ")
    assert problem in told


def test_a_bad_row_after_a_quoted_newline_is_told_by_the_line_it_begins_on() -> None:
    _, [told] = parsed('a#1,"one\ntwo",2026-03-01T00:00:00Z,,,', "a#2,,2026-03-01T00:00:00Z,,,")
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
        ("external_id,title,created_at,owner", "nobody knows: owner"),
        ("external_id,title,title,created_at", "twice"),
        ("", "no column created_at, external_id, title"),
    ],
)
def test_a_header_that_is_not_one_of_tickets_refuses_the_file(header: str, problem: str) -> None:
    with pytest.raises(Refusal, match=problem):
        parsed("a,b,c", header=header)
