"""What goes over the wire. The same structs are the tools' input and output schemas.

Instants are fixed-width UTC text (`2026-11-29T17:00:00.000Z`) in both directions of the API.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from app.domain import CONTROL, MAX_ID, NAME_MAX, TEXT_MAX, TITLE_MAX, Category, Priority, Speaker, Status
from app.runtime.tools.brakes import Brake

INSTANT_TEXT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z"
INSTANT = rf"^{INSTANT_TEXT}(?![\s\S])"  # "$" would let a trailing newline through

ID_TEXT = "[1-9][0-9]{0,15}"
IDS = rf"^{ID_TEXT}(,{ID_TEXT}){{0,99}}(?![\s\S])"
PLACE = rf"^{INSTANT_TEXT}_{ID_TEXT}(?![\s\S])"  # the last request of a page: its place in the order
CURSOR = rf"^({INSTANT_TEXT}_)?{ID_TEXT}(?![\s\S])"  # the last ticket of a page: its place in the order

Instant = Annotated[str, Meta(pattern=INSTANT, extra_json_schema={"format": "date-time"})]
LINE = rf"[^{CONTROL}]"
ONE_LINE = rf"^(?=.*\S){LINE}+(?![\s\S])"  # and not only white space
SPACED_LINE = rf"^{LINE}*(?![\s\S])"
NO_NUL = r"^[^\u0000]*$"  # SQLite ends a text there
Title = Annotated[
    str,
    Meta(min_length=1, max_length=TITLE_MAX, pattern=ONE_LINE, description="One line, as the requester would say it."),
]
Text = Annotated[str, Meta(min_length=1, max_length=TEXT_MAX, pattern=NO_NUL)]
Body = Annotated[str, Meta(max_length=TEXT_MAX, pattern=NO_NUL)]
Name = Annotated[str, Meta(min_length=1, max_length=NAME_MAX, pattern=NO_NUL)]
Labels = Annotated[list[Name], Meta(max_length=20)]
Version = Annotated[int, Meta(ge=1, le=MAX_ID, description="The version at which you saw the ticket.")]
Reason = Annotated[str, Meta(max_length=1_000, pattern=NO_NUL)]
Note = Annotated[str, Meta(max_length=1_000, pattern=SPACED_LINE)]


class Input(Struct, forbid_unknown_fields=True, kw_only=True):
    """A request body. An unknown key is refused by name."""


class Output(Struct):
    """A response body."""


PROBLEM_JSON = "application/problem+json"


class Problem(Output, omit_defaults=True):
    """An error (RFC 9457), with the trace id to look for in the log."""

    type: str
    title: str
    status: int
    detail: str
    trace_id: str | None = None
    state: str | None = None  # the word that the thing in conflict has now
    errors: Any = None  # what does not fit, each with its key


# Tickets


class CreateTicket(Input):
    title: Title
    body: Body = ""
    requester: Name | None = None
    priority: Priority = Priority.NORMAL
    category: Category | None = None
    assignee: Name | None = None
    labels: Labels = []
    created_at: Instant | None = None  # backdates both creation and activity, for tickets that began elsewhere


class EditTicket(Input):
    """Only the keys that are present change anything. With `version`, the edit is refused if the ticket has moved."""

    version: Version | UnsetType = UNSET
    title: Title | UnsetType = UNSET
    body: Body | UnsetType = UNSET
    requester: Name | UnsetType | None = UNSET
    priority: Priority | UnsetType = UNSET
    category: Category | UnsetType | None = UNSET
    assignee: Name | UnsetType | None = UNSET
    labels: Labels | UnsetType = UNSET
    protected_until: Instant | UnsetType | None = UNSET


class AddComment(Input):
    """`speaker` is requester when an operator records what the requester said elsewhere."""

    body: Text
    public: bool = True
    speaker: Literal["operator", "requester"] = "operator"


class CloseTicket(Input):
    version: Version


class ReopenTicket(Input):
    version: Version | UnsetType = UNSET


class TicketOut(Output):
    id: int
    external_id: str | None
    title: str
    status: Status
    priority: Priority
    category: Category | None
    assignee: str | None
    requester: str | None
    labels: list[str]
    created_at: Instant
    updated_at: Instant
    last_activity_at: Instant
    last_speaker: Speaker
    protected_until: Instant | None
    closed_at: Instant | None
    closed_by: str | None
    version: int


class TicketPage(Output):
    """`next` is the `after` of the following page, null on the last; a page with a `next` may be short, or empty.

    Counts stop at 1,000: then read "at least". `stale` is null without `inactive_since`: nothing was asked.
    """

    tickets: list[TicketOut]
    next: str | None
    open: int
    stale: int | None


class CommentOut(Output):
    id: int
    author_kind: str
    author_name: str
    body: str
    created_at: Instant
    public: bool


class TicketDetail(Output):
    ticket: TicketOut
    body: str
    comments: list[CommentOut]


# Approvals


Tab = Literal["waiting", "approved", "rejected", "expired", "cancelled"]
Decision = Literal["approved", "rejected"]
RequestId = Annotated[str, Meta(max_length=64, pattern=NO_NUL)]
Fingerprint = Annotated[str, Meta(max_length=64, description="As the request was shown. Another one decides nothing.")]
SEARCH_MAX = 200


class Decide(Input):
    """Approve. The reason is optional."""

    reason: Reason | None = None
    fingerprint: Fingerprint | None = None


class Reject(Input):
    """Reject. The refusal is remembered until an instant, until the time to answer would have ended, or always."""

    reason: Reason | None = None
    until_at: Instant | None = None
    until_window_ends: bool = False
    fingerprint: Fingerprint | None = None


class Seen(Input):
    """A request, as it was shown."""

    id: RequestId
    fingerprint: Fingerprint


class Answer(Input):
    """One answer to many requests. `until_…` are for a no, as where one request is rejected."""

    decision: Decision
    requests: Annotated[list[Seen], Meta(min_length=1, max_length=50)]
    reason: Reason | None = None
    until_at: Instant | None = None
    until_window_ends: bool = False


class Prune(Input):
    older_than_days: Annotated[int, Meta(ge=0, le=365)] = 7


class Pruned(Output):
    pruned: int
    before: Instant


class ApprovalOut(Output):
    """A request as people see it. `status` is pending, approved, used, rejected, expired, cancelled or unknown."""

    id: str
    fingerprint: str  # of what people are shown; an answer may send it back
    tool: str
    subject: str
    input: dict[str, Any]
    preview: dict[str, Any]
    because: str | None  # why the agent asks, in its own words
    principal: str
    requested_at: Instant
    expires_at: Instant
    status: str
    decided_at: Instant | None
    decided_by: str | None
    reason: str | None
    use_by: Instant | None
    consumed_at: Instant | None
    ended_at: Instant | None
    ended_reason: str | None
    until_at: Instant | None
    superseded_at: Instant | None


class TicketNow(Output):
    """The ticket that a request is about, as it is now."""

    id: int
    title: str
    status: Status
    version: int
    last_speaker: Speaker
    last_activity_at: Instant
    requester: str | None
    closed_by: str | None


class Card(Output):
    """A request, its ticket (null where it is about none, or that is gone), and what became of it since.

    `changed` says what happened to the ticket after people were asked. `undo` is what can be taken back of the answer,
    and `undo_means` what would follow.
    """

    request: ApprovalOut
    ticket: TicketNow | None
    changed: str | None
    undo: Literal["take back", "reopen", "ask again"] | None
    undo_means: str | None


class ApprovalPage(Output):
    """The 50 oldest that can be answered, the 20 newest that no longer can, and the 20 newest that stand as a no.

    Where a tab is named: `requests`, a page of it, and `next`, the `after` of the following one, null on the last.
    """

    pending: list[ApprovalOut] | UnsetType = UNSET
    resolved: list[ApprovalOut] | UnsetType = UNSET
    declined: list[ApprovalOut] | UnsetType = UNSET
    requests: list[Card] | UnsetType = UNSET
    next: str | UnsetType | None = UNSET


class Item(Output):
    """What became of one request of many. `ok`: this answer was recorded; else `outcome` is the word that stands.

    Or it is "halted", "not found", or "not as shown".
    """

    id: str
    outcome: str
    ok: bool
    decided_by: str | None
    principal: str | None


class Answered(Output):
    """A result for each request, in the order in which they were sent."""

    results: list[Item]


class Preview(Output):
    """What a gated call would do, in one sentence, and the values it changes."""

    summary: str
    before: dict[str, Any]
    after: dict[str, Any]


# Brakes


class Halt(Input):
    """Which agent; null means all of them."""

    agent: str | None = None
    note: Note | None = None


class Resume(Input):
    """Which agent; null takes back the halt of all, and leaves those of single agents."""

    agent: str | None = None


class BrakesOut(Output):
    """`changed` is false when it was so already. `brakes` are all that stand now."""

    changed: bool
    brakes: list[Brake]


# Jobs of an agent


class Unpause(Input):
    """Which job: the callback it is registered for, and its key where it has one."""

    callback: Name
    key: str = ""


class Pause(Unpause, kw_only=True):
    """`note` says why, to whoever wonders why nothing happens."""

    note: Annotated[Note, Meta(min_length=1)]


class Paused(Output):
    """A job, and why it stands; null when it runs again."""

    callback: str
    key: str
    note: str | None


# People


class UserOut(Output):
    id: int
    name: str
    email: str
    abilities: list[str]
    created_at: Instant
    disabled_at: Instant | None


class TokenOut(Output):
    """What may be shown of a token after it was issued: neither its text nor its hash."""

    id: str
    name: str
    owner: str
    kind: str
    scopes: list[str]
    created_at: Instant
    expires_at: Instant | None
    revoked_at: Instant | None
