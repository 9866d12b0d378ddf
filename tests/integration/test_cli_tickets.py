"""Seeding and importing, on a real database."""

import asyncio
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from support import OPERATOR, a_ticket, ago, an_operator

from app.cli.seeding import seed
from app.cli.tickets import bring_in, import_file
from app.domain import Speaker
from app.importer.keep import ForeignComment, ForeignTicket, Imported, keep
from app.services import tickets, tokens
from db.engine import Database
from db.schema import TicketRow, UserRow

ROW = "a#1,Printer on fire,2026-03-01T00:00:00Z"


def foreign(**values: Any) -> ForeignTicket:
    """An open ticket from elsewhere; `details` states more of it."""
    row = {"external_id": "a#1", "title": "Printer", "created_at": ago(20), "last_speaker": Speaker.NONE}
    details = {"body": "", "closed_at": None} | values.pop("details", {})
    return ForeignTicket(**row | {"details": details} | values)


def importing(database: Database, now: datetime, *given: ForeignTicket) -> Imported:
    return asyncio.run(database.write(keep, list(given), by=OPERATOR, now=now))


def the_ticket(session: Session) -> Any:
    return session.execute(select(TicketRow)).scalar_one()


def count(session: Session, table: type) -> int:
    return session.execute(select(func.count()).select_from(table)).scalar_one()


def test_seeding_gives_two_stale_tickets_and_a_token_that_works(database: Database, now: datetime) -> None:
    token = asyncio.run(seed(database, now))
    assert token
    rows = asyncio.run(database.read(lambda session: session.execute(select(TicketRow)).scalars().all()))
    stale = [row.title for row in rows if row.status == "open" and row.last_activity_at < ago(7)]
    assert stale == ["Login page 500s on Safari", "Stale: invoice export truncates"]
    assert {row.last_speaker for row in rows if row.title in stale} == {"operator"}
    holder = asyncio.run(database.read(tokens.find, tokens.hashed(token), now))
    assert holder
    assert holder.principal.name == "Ops On-Call"


def test_seeding_twice_changes_nothing(database: Database, now: datetime) -> None:
    asyncio.run(seed(database, now))
    assert asyncio.run(seed(database, now)) is None
    assert asyncio.run(database.read(count, TicketRow)) == 4
    assert len(asyncio.run(database.read(tokens.listing))) == 1


def test_seeding_brings_no_operator_to_a_database_with_people(database: Database, now: datetime) -> None:
    asyncio.run(database.write(an_operator, email="own@example.test"))
    asyncio.run(database.write(a_ticket))
    assert asyncio.run(seed(database, now)) is None
    assert asyncio.run(database.read(count, UserRow)) == 1
    assert asyncio.run(database.read(count, TicketRow)) == 1


def test_a_second_import_of_the_same_file_changes_nothing(database: Database, now: datetime) -> None:
    assert importing(database, now, foreign()) == Imported(1, 0, 0)
    assert importing(database, now, foreign()) == Imported(0, 0, 1)


def test_a_changed_title_moves_the_version_and_a_changed_body_does_not(database: Database, now: datetime) -> None:
    importing(database, now, foreign())
    assert importing(database, now, foreign(details={"body": "Still."})) == Imported(0, 1, 0)
    assert asyncio.run(database.read(the_ticket)).version == 1
    assert importing(database, now, foreign(title="Fire")) == Imported(0, 1, 0)
    assert asyncio.run(database.read(the_ticket)).version == 2


def test_a_ticket_that_was_closed_there_is_closed_here(database: Database, now: datetime) -> None:
    importing(database, now, foreign())
    assert importing(database, now, foreign(details={"closed_at": ago(3)})) == Imported(0, 1, 0)
    row = asyncio.run(database.read(the_ticket))
    assert (row.status, row.closed_at, row.version) == ("closed", ago(3), 2)


def test_an_import_neither_reopens_nor_closes_against_what_happened_here_later(
    database: Database, now: datetime
) -> None:
    importing(database, now, foreign(details={"closed_at": ago(3)}))
    ticket_id = asyncio.run(database.read(the_ticket)).id
    asyncio.run(database.write(tickets.reopen, ticket_id, by=OPERATOR, now=now))
    assert importing(database, now, foreign(details={"closed_at": ago(3)})) == Imported(0, 0, 1)
    assert asyncio.run(database.read(the_ticket)).status == "open"
    asyncio.run(database.write(tickets.close, ticket_id, 2, by=OPERATOR, now=now))
    version = asyncio.run(database.read(the_ticket)).version
    assert importing(database, now, foreign()) == Imported(0, 0, 1)
    row = asyncio.run(database.read(the_ticket))
    assert (row.status, row.version) == ("closed", version)


def test_a_close_that_an_import_brought_is_undone_by_one_and_counts_as_activity(
    database: Database, now: datetime
) -> None:
    importing(database, now, foreign(details={"closed_at": ago(3)}))
    assert importing(database, now, foreign()) == Imported(0, 1, 0)
    row = asyncio.run(database.read(the_ticket))
    assert (row.status, row.closed_at, row.last_activity_at, row.version) == ("open", None, ago(0), 2)
    assert importing(database, now, foreign()) == Imported(0, 0, 1)


def test_a_file_that_does_not_say_when_tickets_closed_reopens_none(database: Database, now: datetime) -> None:
    importing(database, now, foreign(details={"closed_at": ago(3)}))
    silent = ForeignTicket("a#1", "Printer", ago(20), Speaker.NONE)
    assert importing(database, now, silent) == Imported(0, 0, 1)
    assert asyncio.run(database.read(the_ticket)).status == "closed"


def said(days_ago: float, who: str = "operator", *, public: bool = True, body: str = "Any news?") -> ForeignComment:
    return ForeignComment(who, "Ana", body, ago(days_ago), public)


def test_activity_and_speaker_follow_the_last_public_word_of_a_person(database: Database, now: datetime) -> None:
    comments = (said(15, "requester"), said(14), said(13, public=False), said(12, "agent"))
    importing(database, now, foreign(last_speaker=Speaker.REQUESTER, comments=comments))
    row = asyncio.run(database.read(the_ticket))
    assert (row.last_speaker, row.last_activity_at) == ("operator", ago(14))
    detail = asyncio.run(database.read(tickets.show, row.id))
    assert [(one.author_kind, one.created_at) for one in detail.comments] == [
        ("requester", ago(15)),
        ("operator", ago(14)),
        ("operator", ago(13)),
        ("agent", ago(12)),
    ]


def test_comments_come_once_and_a_new_public_one_moves_the_ticket(database: Database, now: datetime) -> None:
    first = foreign(comments=(said(15),))
    importing(database, now, first)
    version = asyncio.run(database.read(the_ticket)).version
    assert importing(database, now, first) == Imported(0, 0, 1)
    assert importing(database, now, foreign(comments=(said(15), said(9, public=False)))) == Imported(0, 1, 0)
    assert asyncio.run(database.read(the_ticket)).version == version
    assert importing(database, now, foreign(comments=(said(15), said(8, "requester")))) == Imported(0, 1, 0)
    row = asyncio.run(database.read(the_ticket))
    assert (row.version, row.last_activity_at, row.last_speaker) == (version + 1, ago(8), "requester")
    assert len(asyncio.run(database.read(tickets.show, row.id)).comments) == 3


def test_an_old_word_that_comes_late_sets_no_activity_back(database: Database, now: datetime) -> None:
    importing(database, now, foreign(comments=(said(5, "requester"),)))
    importing(database, now, foreign(comments=(said(9),)))
    row = asyncio.run(database.read(the_ticket))
    assert (row.last_activity_at, row.last_speaker) == (ago(5), "requester")


def test_details_and_labels_change_only_where_the_file_names_them(database: Database, now: datetime) -> None:
    importing(database, now, foreign(details={"assignee": "Bo", "priority": "high"}, labels=("a", "b")))
    assert importing(database, now, foreign()) == Imported(0, 0, 1)
    assert importing(database, now, foreign(details={"assignee": None}, labels=("b", "c"))) == Imported(0, 1, 0)
    row = asyncio.run(database.read(the_ticket))
    assert (row.assignee, row.priority, row.version) == (None, "high", 3)
    assert asyncio.run(database.read(tickets.show, row.id)).ticket.labels == ["b", "c"]


def test_files_of_many_batches_are_kept_whole(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: datetime
) -> None:
    monkeypatch.setattr("app.cli.tickets.BATCH", 3)
    (tmp_path / "tickets.csv").write_text(
        "external_id,title,created_at\n" + "".join(f"a#{n % 10},T,2026-03-01T00:00:00Z\n" for n in range(11))
    )
    done, bad = asyncio.run(bring_in(database, tmp_path / "tickets.csv", now))
    assert (done, [row.line for row in bad]) == (Imported(10, 0, 0), [12])
    assert asyncio.run(bring_in(database, tmp_path / "tickets.csv", now))[0] == Imported(0, 0, 10)


def test_as_json_the_command_prints_one_document(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATA_DIR", str(database.path.parent))
    (tmp_path / "tickets.jsonl").write_text('{"external_id": "a#1"}\n')
    told = CliRunner().invoke(import_file, [str(tmp_path / "tickets.jsonl"), "--json"])
    bad = [{"line": 1, "problem": "created_at is missing"}]
    assert json.loads(told.stdout) == {"added": 0, "updated": 0, "unchanged": 0, "bad": bad}
    assert (told.exit_code, told.stderr) == (1, "")


def test_a_header_without_rows_is_said(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA_DIR", str(database.path.parent))
    (tmp_path / "tickets.csv").write_text("external_id,title,created_at\n")
    told = CliRunner().invoke(import_file, [str(tmp_path / "tickets.csv")])
    assert (told.exit_code, "has a header and no rows" in told.stderr) == (0, True)


def test_the_command_keeps_good_rows_tells_bad_ones_and_exits_1(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATA_DIR", str(database.path.parent))
    file = tmp_path / "tickets.csv"
    file.write_text(f"external_id,title,created_at\n{ROW}\na#2,,2026-03-01T00:00:00Z\n")
    told = CliRunner().invoke(import_file, [str(file), "--now", "2026-03-09T12:00:00Z"])
    assert told.exit_code == 1
    assert told.stdout == "1 added, 0 updated, 0 unchanged, 1 bad.\n"
    assert f'{file}:3: title "" has 0 characters' in told.stderr
    assert asyncio.run(database.read(the_ticket)).title == "Printer on fire"


def test_the_command_refuses_a_now_without_a_time_zone(tmp_path: Path) -> None:
    (tmp_path / "tickets.csv").touch()
    told = CliRunner().invoke(import_file, [str(tmp_path / "tickets.csv"), "--now", "2026-03-09"])
    assert told.exit_code == 2
