"""HTML answers: Jinja with autoescape, a strict policy for the browser, and instants that people can read."""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from hashlib import sha256
from http import HTTPStatus
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import MediaType, Response
from markupsafe import Markup

from app.domain import plain
from app.runtime.instants import from_text, to_text
from app.runtime.principal import agent_of
from app.schemas import INSTANT_TEXT
from config.settings import ROOT

TEMPLATES = ROOT / "templates"
MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400
RELATIVE_UP_TO_DAYS = 60  # farther away than this, a date says more

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
    environment.filters |= {one.__name__: one for one in (when, exact, left, dated, subject, who, plain, prose)}
    environment.tests["agent"] = agent_of  # anybody else keeps no calls, and must repeat one that was approved
    environment.globals["static"] = static_url
    return environment


@cache
def static_url(name: str) -> str:
    """The address of a static file. It changes with the file, so that browsers may keep what they have."""
    return f"/static/{name}?v={sha256((TEMPLATES / 'static' / name).read_bytes()).hexdigest()[:12]}"


def when(instant: str, now: datetime) -> Markup:
    """ "2 hours ago", with the exact time at hand."""
    at = from_text(instant)
    return _time(at, relative(at, now))


def exact(instant: str, now: datetime) -> Markup:
    """ "3 Dec, 17:00", with the year and zone at hand."""
    at = from_text(instant)
    year = "" if at.year == now.year else f" {at.year}"
    return _time(at, f"{at.day} {at:%b}{year}, {at:%H:%M}")


def left(instant: str, now: datetime) -> Markup:
    """ "3 days left", with the exact time at hand."""
    at = from_text(instant)
    words = relative(at, now).removeprefix("in ").replace("a moment", "a minute")
    return _time(at, f"{words} left")


def dated(text: str, now: datetime) -> Markup:
    """A sentence whose instants, written for machines, read as dates. What only looks like one stays as it is."""
    parts = re.split(f"({INSTANT_TEXT})", plain(text))
    return Markup("").join(_exact_or(part, now) if index % 2 else part for index, part in enumerate(parts))


def _exact_or(text: str, now: datetime) -> Markup | str:
    try:
        return exact(text, now)
    except ValueError:
        return text


def prose(text: str) -> str:
    """Somebody's words, which may be of several lines."""
    return "\n".join(plain(line.expandtabs(4)) for line in text.replace("\r\n", "\n").split("\n"))


def _time(at: datetime, words: str) -> Markup:
    """`words` are ours: escaping them again, dozens of times a page, takes a while."""
    title = f"{at.day} {at:%b %Y, %H:%M} UTC"
    return Markup(f'<time datetime="{to_text(at)}" title="{title}">{words}</time>')  # noqa: S704 (nothing of others)


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
