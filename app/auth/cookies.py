"""The two cookies: the session of somebody signed in, and the one that guards the sign-in form before that.

`__Host-` makes browsers refuse them over plain HTTP and from sibling hosts. Without secure cookies (`triager dev` on
loopback, a private network) they have plain names.
"""

from collections.abc import Mapping
from secrets import token_urlsafe

from litestar.datastructures import Cookie

SECRET_LENGTH = 43  # characters of 32 random bytes


def session_name(secure: bool) -> str:
    return "__Host-session" if secure else "session"


def guest_name(secure: bool) -> str:
    return "__Host-guest" if secure else "guest"


def make(name: str, value: str, *, secure: bool, max_age_s: int | None = None) -> Cookie:
    """Without `max_age_s` it lasts until the browser closes; 0 deletes it."""
    return Cookie(name, value=value, max_age=max_age_s, secure=secure, httponly=True, samesite="lax")


def guest(cookies: Mapping[str, str], *, secure: bool) -> str:
    """The visitor's own guest cookie, so that a form in another tab keeps working; a fresh one when there is none."""
    value = cookies.get(guest_name(secure), "")
    return value if len(value) == SECRET_LENGTH and value.isascii() else token_urlsafe(32)
