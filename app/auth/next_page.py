"""Where to go after signing in: a page of ours, whatever the address bar said."""

import re
from typing import Any
from urllib.parse import quote, unquote

from litestar.connection import ASGIConnection

Connection = ASGIConnection[Any, Any, Any, Any]
HOME = "/"
VISIBLE = re.compile(r"/[\x21-\x7e]*")


def safe_next(text: str) -> str:
    """`text` if it is a plain path of ours, with its query; else the home page.

    Browsers drop tabs, read a backslash as a slash and resolve dot segments, so none of these may be there, encoded
    or not. What a query holds is only data.
    """
    path = unquote(re.split(r"[?#]", text, maxsplit=1)[0])
    tricks = "//" in path or "\\" in text or "\\" in path or not path.isprintable()
    dots = any(segment in (".", "..") for segment in path.split("/"))
    return text if VISIBLE.fullmatch(text) and not tricks and not dots else HOME


def sign_in_path(page: str) -> str:
    """The sign-in page that leads on to `page`."""
    page = safe_next(page)
    return "/sign-in" if page == HOME else f"/sign-in?next={quote(page, safe='/')}"


def wanted_page(connection: Connection) -> str:
    """The page a visitor wants to see; after an action, the page whose button it was, as far as that is known."""
    if shown := connection.headers.get("hx-current-url"):
        return _path(shown)
    if connection.scope.get("method") != "GET":
        return HOME
    path, query = quote(connection.scope["path"]), connection.scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path


def came_from(connection: Connection) -> str:
    """The page of ours that sent this, to lead back to; the home page when there is none."""
    shown, referer = connection.headers.get("hx-current-url"), connection.headers.get("referer", "")
    is_ours = referer.partition("://")[2].partition("/")[0] == connection.headers.get("host")
    return safe_next(_path(shown or (referer if is_ours else "")))


def _path(address: str) -> str:
    return "/" + address.partition("://")[2].partition("/")[2]
