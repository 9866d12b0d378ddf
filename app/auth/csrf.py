"""Did the page that sent this come from us, and from this very sign-in?

The token in a page is an HMAC keyed by the cookie itself: nothing is stored, another person's token does not fit, and a
new sign-in makes the pages of the one before harmless.
"""

import hmac
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from litestar import Request

HEADER, FIELD = "x-csrf-token", "_csrf"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "QUERY"})


def token(cookie: str) -> str:
    return hmac.new(cookie.encode(errors="replace"), b"csrf", sha256).hexdigest()


async def fault(request: Request[Any, Any, Any], cookie: str) -> str | None:
    """Why a request that `cookie` vouches for must not run; None when it may."""
    if is_foreign(request.headers):
        return "This request came from another site. Nothing was executed."
    given = request.headers.get(HEADER) or text_field(await request.form(), FIELD)
    if not hmac.compare_digest(given.encode(errors="replace"), token(cookie).encode()):
        return "This page belongs to an earlier sign-in. Nothing was executed. Reload it and try again."
    return None


def is_foreign(headers: Mapping[str, str]) -> bool:
    """Whether a page of another site sent it. The browser's own verdict comes first: a proxy may have changed Host."""
    site = headers.get("sec-fetch-site")
    if site:
        return site not in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2] != headers.get("host")


def text_field(form: Mapping[str, Any], name: str) -> str:
    """A field of a submitted form; empty when it is absent, or a file."""
    value = form.get(name)
    return value if isinstance(value, str) else ""
