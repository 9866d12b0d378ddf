"""The forms about tickets: what was typed, as the services take it, and back again when they refuse it.

A form is read as text, whatever it says, so that a refusal can show it again. It carries what its ticket was when the
page was made: only what was changed in it is written, and nothing that somebody else has changed since.
"""

import re
from datetime import UTC, date, datetime, time
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, structs

from app.domain import NAME_MAX, TEXT_MAX, TITLE_MAX, Invalid
from app.runtime.instants import to_text
from app.schemas import AddComment, CreateTicket, EditTicket, TicketOut
from app.services.timeline import Change, change

T = TypeVar("T")

RULES = {  # by the key that does not fit
    "title": f"The title is one line of 1 to {TITLE_MAX} characters.",
    "body": f"The text is at most {TEXT_MAX:,} characters.",
    "requester": f"The requester is at most {NAME_MAX} characters.",
    "assignee": f"The assignee is at most {NAME_MAX} characters.",
    "labels": f"There are at most 20 labels, each of at most {NAME_MAX} characters.",
    "priority": "Choose a priority from the list.",
    "category": "Choose a category from the list.",
    "status": "Choose open, closed or any.",
    "text": f"What to look for is at most {TITLE_MAX} characters.",
    "label": f"A label is at most {NAME_MAX} characters.",
    "sort": "Choose an order from the list.",
    "after": "This is no page of the list. Begin at the first.",
}
EDITED = ("title", "priority", "category", "assignee", "labels", "protected_until")


class New(Struct):
    title: str = ""
    body: str = ""
    requester: str = ""
    priority: str = "normal"
    category: str = ""
    assignee: str = ""
    add: str = ""  # labels, with commas between


class Edit(Struct):
    """`labels` are those that were kept, each as JSON (one alone comes as a text); `seen` is JSON too."""

    seen: str = ""
    title: str = ""
    priority: str = ""
    category: str = ""
    assignee: str = ""
    protected_until: str = ""  # a day, or nothing
    labels: list[str] | str = []
    add: str = ""


class Comment(Struct):
    body: str = ""
    to: str = "public"


class At(Struct):
    """The version at which somebody saw the ticket whose button they pressed."""

    version: str = ""


class Seen(Struct):
    """What a ticket was when its form was made."""

    version: int
    title: str
    status: str
    priority: str
    category: str | None
    assignee: str | None
    labels: list[str]
    protected_until: str | None
    last_activity_at: str


def new_ticket(form: New) -> CreateTicket:
    values = structs.asdict(form) | {"body": _lines(form.body), "labels": _names(form.add)}
    given = {name: value for name, value in values.items() if value and name != "add"}
    return checked(CreateTicket, {"title": "", **given})


def comment(form: Comment) -> AddComment:
    body = _lines(form.body).strip()
    if not body:
        raise Invalid("The comment is empty. Nothing was added. Write something first.")
    speaker = "requester" if form.to == "requester" else "operator"
    return checked(AddComment, {"body": body, "speaker": speaker, "public": form.to != "internal"})


def version(form: At) -> int:
    if not re.fullmatch("[1-9][0-9]{0,15}", form.version):
        raise Invalid("The form was not sent as the page has it. Nothing was changed. Open the ticket anew.")
    return int(form.version)


def edit(form: Edit, now: datetime) -> tuple[EditTicket, dict[str, Any]]:
    """What was changed in the form, and what was seen there."""
    seen = _seen(form)
    changed = _changed(form, seen, now)
    if not changed:
        raise Invalid("The form says what it said before. Nothing was changed. Change a field, and save again.")
    return checked(EditTicket, changed | {"version": seen.version}), {name: getattr(seen, name) for name in changed}


def form_of(ticket: TicketOut) -> Edit:
    return _form(msgspec.convert(ticket, Seen, from_attributes=True))


def _form(seen: Seen) -> Edit:
    return Edit(
        seen=msgspec.json.encode(seen).decode(),
        title=seen.title,
        priority=seen.priority,
        category=seen.category or "",
        assignee=seen.assignee or "",
        protected_until=_day(seen.protected_until),
        labels=[_json(label) for label in seen.labels],
    )


def rebased(form: Edit, ticket: TicketOut) -> tuple[Edit, list[Change]]:
    """The form for the ticket as it is now, with what was typed where something was; and what is otherwise by now."""
    fresh = form_of(ticket)
    try:
        seen, kept = _seen(form), _kept(form)
    except Invalid:
        return structs.replace(form, seen=fresh.seen, labels=fresh.labels), []
    typed = {name for name in EDITED if name != "labels" and getattr(form, name) != getattr(_form(seen), name)}
    if kept != seen.labels or form.add:
        typed |= {"labels", "add"}
    return structs.replace(fresh, **{name: getattr(form, name) for name in typed}), _moved(seen, ticket)


def choices(form: Edit) -> list[tuple[str, str, bool]]:
    """The labels to choose from: as the form sends each, what it is, and whether it was kept."""
    kept = _kept(form)
    return [(_json(name), name, name in kept) for name in sorted({*_seen(form).labels, *kept})]


def checked(kind: type[T], values: dict[str, Any]) -> T:
    """Raises Invalid in the words of the form."""
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        key = re.search(r"\$\.(\w+)", str(error))
        raise Invalid(f"{RULES.get(key[1] if key else '', 'That does not fit.')} Nothing was changed.") from error


def _changed(form: Edit, seen: Seen, now: datetime) -> dict[str, Any]:
    typed: dict[str, Any] = {name: getattr(form, name) or None for name in ("category", "assignee")}
    typed |= {"title": re.sub(r"[\r\n]+", " ", form.title), "priority": form.priority}  # its field has several lines
    typed["labels"] = sorted({*_kept(form), *_names(form.add)})
    if form.protected_until != _day(seen.protected_until):
        typed["protected_until"] = _end_of(form.protected_until, now) if form.protected_until else None
    return {name: value for name, value in typed.items() if value != getattr(seen, name)}


def _moved(seen: Seen, ticket: TicketOut) -> list[Change]:
    fields = [name for name in (*EDITED, "status", "last_activity_at") if getattr(seen, name) != getattr(ticket, name)]
    return [change(name, getattr(seen, name), getattr(ticket, name)) for name in fields]


def _seen(form: Edit) -> Seen:
    try:
        return msgspec.json.decode(form.seen, type=Seen)
    except msgspec.DecodeError as error:
        raise Invalid("The form was not sent as the page has it. Nothing was changed. Open the ticket anew.") from error


def _kept(form: Edit) -> list[str]:
    sent = [form.labels] if isinstance(form.labels, str) else form.labels
    try:
        return sorted(msgspec.json.decode(f"[{','.join(sent)}]", type=list[str]))
    except msgspec.DecodeError as error:
        raise Invalid("A label was not sent as the page has it. Nothing was changed. Open the ticket anew.") from error


def _names(typed: str) -> list[str]:
    return [name.strip() for name in typed.split(",") if name.strip()]


def _lines(typed: str) -> str:
    """As it was typed: a browser sends each end of a line as two characters."""
    return typed.replace("\r\n", "\n")


def _json(text: str) -> str:
    return msgspec.json.encode(text).decode()


def _day(instant: str | None) -> str:
    return (instant or "")[:10]


def _end_of(day: str, now: datetime) -> str:
    """The last moment, in UTC, of a day as the form sends it."""
    try:
        at = datetime.combine(date.fromisoformat(day), time.max, UTC)
    except ValueError as error:
        raise Invalid(f'"{day[:40]}" is no date. Nothing was changed. Choose a day that is in the calendar.') from error
    if at < now:
        raise Invalid(f"The day {day[:40]} is over (UTC). Nothing was changed. Choose today or a later day.")
    return to_text(at)
