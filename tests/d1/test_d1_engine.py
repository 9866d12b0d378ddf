"""The engine itself: what SQLAlchemy makes of our statements there."""

from datetime import datetime

import pytest
from sqlalchemy import insert, select, text
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import Session

from app.domain import Conflict, Refusal
from app.runtime import invocation
from app.schemas import CreateTicket
from app.services import tickets, users
from db.engine import Database
from db.schema import LabelRow, TicketRow
from tests.support import OPERATOR, a_ticket

pytestmark = pytest.mark.anyio


async def test_what_was_written_stays_whatever_comes_after(database: Database) -> None:
    def halfway(session: Session) -> None:
        a_ticket(session, title="stays")
        raise Refusal("no")

    with pytest.raises(Refusal):
        await database.write(halfway)
    assert await database.read(lambda s: list(s.scalars(select(TicketRow.title)))) == ["stays"]


async def test_a_list_of_rows_is_one_statement_as_long_as_its_parameters_fit(database: Database, now: datetime) -> None:
    ticket = CreateTicket(title="Printer", labels=[f"label {number}" for number in range(20)])
    with invocation.begin("trace") as own:
        await database.write(tickets.create, ticket, by=OPERATOR, now=now)
    assert own.statements == 3
    rows = [{"ticket_id": 1, "label": str(number)} for number in range(120)]
    with invocation.begin("trace") as own:
        await database.write(lambda s: s.execute(insert(LabelRow), rows) and None)
    assert own.statements == 3  # 50 rows have 100 parameters


async def test_an_answer_without_rows_spoils_no_later_one(database: Database, now: datetime) -> None:
    add = ("Ana", "ana@example.test", ["operate"], now)
    assert (await database.write(users.add, *add)).name == "Ana"
    with pytest.raises(Conflict):
        await database.write(users.add, *add)
    assert (await database.write(users.add, "Bo", "bo@example.test", [], now)).name == "Bo"


async def test_a_broken_rule_of_the_schema_and_a_broken_statement_are_told_apart(database: Database) -> None:
    with pytest.raises(IntegrityError, match="FOREIGN KEY"):
        await database.write(lambda s: s.execute(insert(LabelRow).values(ticket_id=404, label="x")) and None)
    with pytest.raises(OperationalError, match="no such table"):
        await database.read(lambda s: s.execute(text("SELECT 1 FROM nowhere")) and None)
