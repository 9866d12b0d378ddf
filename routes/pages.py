"""HTML answers: Jinja with autoescape, a strict policy for the browser, and instants that people can read."""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache, lru_cache
from hashlib import sha256
from http import HTTPStatus
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import MediaType, Response
from markupsafe import Markup, escape

from app.domain import plain
from app.runtime.instants import from_text, to_text
from app.runtime.principal import agent_of
from app.schemas import INSTANT_TEXT
from config.settings import ROOT

TEMPLATES = ROOT / "templates"
MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
RELATIVE_UP_TO_DAYS = 60  # farther away than this, a date says more
INSTANTS = re.compile(f"({INSTANT_TEXT})")
TOLD_MAX, TOLD_FIRST, TOLD_LAST = 300, 200, 40  # characters
BDI = Markup("<bdi>{}</bdi>")
CUT = Markup(
    "<bdi>{}</bdi> <mark>… {:,} characters …</mark> <bdi>{}</bdi>\n"
    "<details><summary>All of it</summary><bdi>{}</bdi></details>"
)

SECURITY = {
    # No inline script, style or eval. Who frames us could move our buttons under somebody else's pointer.
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    # No other site hears an address of ours. With no-referrer, browsers would send our own forms with "Origin: null".
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
REFUSED = {"HX-Push-Url": "false"}  # the address of a form is no page


def page(
    template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **context: Any
) -> Response[str]:
    """A rendered template, with the headers every HTML answer carries."""
    html = _environment().get_template(template).render(context)
    carried = SECURITY | (REFUSED if status >= HTTPStatus.BAD_REQUEST else {}) | dict(headers or {})
    return Response(html, media_type=MediaType.HTML, status_code=status, headers=carried)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        one.__name__: one for one in (when, exact, day, left, dated, told, subject, who, plain, prose)
    }
    environment.tests["agent"] = agent_of  # anybody else keeps no calls, and must repeat one that was approved
    environment.globals["static"] = static_url
    return environment


@cache
def static_url(name: str) -> str:
    """The address of a static file. It changes with the file, so that browsers may keep what they have."""
    return f"/static/{name}?v={sha256((TEMPLATES / 'static' / name).read_bytes()).hexdigest()[:12]}"


def when(instant: str, now: datetime) -> Markup:
    """ "2 hours ago", with the exact time at hand."""
    return _time(instant, relative(from_text(instant), now))


def exact(instant: str, now: datetime) -> Markup:
    """ "3 Dec, 17:00", with the year and zone at hand."""
    return _time(instant, day(instant, now))


def day(instant: str, now: datetime) -> str:
    """ "3 Dec, 17:00"."""
    at = from_text(instant)
    year = "" if at.year == now.year else f" {at.year}"
    return f"{at.day} {at:%b}{year}, {at:%H:%M}"


def left(instant: str, now: datetime) -> Markup:
    """ "3 days left", with the exact time at hand."""
    words = relative(from_text(instant), now).removeprefix("in ").replace("a moment", "a minute")
    return _time(instant, f"{words} left")


def dated(text: str, now: datetime) -> Markup:
    """A sentence whose instants, written for machines, read as dates. What only looks like one stays as it is."""
    parts = INSTANTS.split(plain(text))
    if len(parts) == 1:
        return escape(parts[0])
    return Markup("").join(_exact_or(part, now) if index % 2 else part for index, part in enumerate(parts))


def told(text: str, now: datetime) -> Markup:
    """Somebody's words as `dated`, apart from ours. Of many, the beginning and the end, and the rest behind a fold."""
    whole = dated(text, now)
    if len(text) <= TOLD_MAX:
        return BDI.format(whole)
    return CUT.format(plain(text[:TOLD_FIRST]), len(text) - TOLD_FIRST - TOLD_LAST, plain(text[-TOLD_LAST:]), whole)


def _exact_or(text: str, now: datetime) -> Markup | str:
    try:
        return exact(text, now)
    except ValueError:
        return text


def prose(text: str) -> str:
    """Somebody's words, which may be of several lines."""
    return "\n".join(plain(line.expandtabs(4)) for line in text.replace("\r\n", "\n").split("\n"))


def _time(instant: str, words: str) -> Markup:
    """`words` are ours: escaping them again, dozens of times a page, takes a while."""
    return Markup(f"{_opened(instant)}{words}</time>")  # noqa: S704 (nothing of others)


@lru_cache(maxsize=4096)
def _opened(instant: str) -> str:
    """Pages name the same instants again and again."""
    at = from_text(instant)
    return f'<time datetime="{to_text(at)}" title="{at.day} {at:%b %Y, %H:%M} UTC">'


def relative(at: datetime, now: datetime) -> str:
    """ "in 3 days", "2 hours ago", "just now"; a date when it is far away."""
    seconds = (at - now).total_seconds()
    distance = abs(seconds)
    if distance < MINUTE_S:
        return "just now" if seconds <= 0 else "in a moment"
    if distance > RELATIVE_UP_TO_DAYS * DAY_S:
        return f"{at.day} {at:%b %Y}"
    size, unit = next(
        (size, unit) for size, unit in ((DAY_S, "day"), (HOUR_S, "hour"), (MINUTE_S, "minute")) if distance >= size
    )
    count = round(distance / size)
    words = f"{count} {unit}{'' if count == 1 else 's'}"
    return f"in {words}" if seconds > 0 else f"{words} ago"


def subject(text: str) -> str:
    """ "ticket:41" as people say it."""
    kind, _, number = text.partition(":")
    return f"Ticket #{number}" if kind == "ticket" else text


def who(principal_key: str) -> str:
    """An agent as `triager/main`; any other principal by its key."""
    agent = agent_of(principal_key)
    return "/".join(agent) if agent else principal_key
