"""Whatever a file holds: every line is good or bad, once, and nothing but a Refusal is raised."""

import json
from io import BufferedReader, BytesIO
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain import Refusal
from app.importer.file import read
from app.importer.keep import ForeignTicket
from app.importer.row import COLUMNS, KEYS, BadRow
from tests.support import NOW

INSTANTS = st.sampled_from(
    ["2026-03-01T00:00:00Z", "2026-03-01T23:30:00-08:00", "2026-03-01", "0001-01-01T00:00+14:00"]
)
TEXTS = st.text(st.characters(exclude_categories=()), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | INSTANTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
TICKETS = st.fixed_dictionaries({"external_id": TEXTS, "title": TEXTS, "created_at": INSTANTS})
OBJECTS = st.builds(lambda some, more: more | some, TICKETS, st.dictionaries(st.sampled_from(sorted(KEYS)), VALUES))
SOME = settings(max_examples=100, deadline=None)


def rows(content: bytes) -> list[ForeignTicket | BadRow]:
    return list(read(BufferedReader(BytesIO(content)), NOW))


@SOME
@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda rest: b"external_id,title,created_at\n" + rest))
def test_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        found = rows(content)
    except Refusal as refusal:
        assert str(refusal).isprintable()  # noqa: PT017
    else:
        assert all(row.problem.isprintable() for row in found if isinstance(row, BadRow))


@SOME
@given(st.lists(OBJECTS | VALUES, max_size=5))
def test_each_json_line_is_one_row_and_a_good_one_says_what_it_said(values: list[Any]) -> None:
    found = rows("\n".join(["{}", *(json.dumps(value) for value in values)]).encode())
    assert isinstance(found.pop(0), BadRow)
    assert len(found) == len(values)
    for line, (row, value) in enumerate(zip(found, values, strict=True), 2):
        if isinstance(row, BadRow):
            assert row.line == line
            assert row.problem.isprintable()
        else:
            assert (row.external_id, row.title) == (value["external_id"], value["title"])
            assert row.details.get("body", "") == value.get("body", "")


@SOME
@given(st.lists(st.lists(TEXTS | INSTANTS, min_size=1, max_size=7), max_size=5))
def test_each_csv_record_is_one_row_and_a_good_one_says_what_it_said(records: list[list[str]]) -> None:
    header = sorted(COLUMNS)
    quoted = [",".join('"' + field.replace('"', '""') + '"' for field in record) for record in records]
    found = rows("\r\n".join([",".join(header), *quoted]).encode(errors="surrogatepass"))
    assert len(found) == len(records)
    for row, record in zip(found, records, strict=True):
        if isinstance(row, ForeignTicket):
            assert (row.external_id, row.title) == (record[header.index("external_id")], record[header.index("title")])
