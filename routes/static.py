"""Static files: a handful, read and compressed once, served from memory. Anything else is not there."""

import gzip
import re
from functools import cache
from mimetypes import guess_type
from typing import Any, NamedTuple

from litestar import Request, Response, get
from litestar.params import FromPath, FromQuery

from app.domain import NotFound
from routes.pages import TEMPLATES

ROOT = TEMPLATES / "static"
HEADERS = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "Vary": "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
}
WANTED = re.compile(r"(1(\.0*)?|0\.0*[1-9]\d*)?")  # a quality above zero; none stands for 1


class File(NamedTuple):
    plain: bytes
    packed: bytes


@get("/static/{name:path}", name="static.file", budget=0, public=True, include_in_schema=False)
async def static_file(request: Request[Any, Any, Any], name: FromPath[str], v: FromQuery[str] = "") -> Response[bytes]:
    """`v` is the file's content in short (`pages.static_url`): a browser may keep what it has for ever."""
    file = _files().get(name.lstrip("/"))
    if file is None:
        raise NotFound("There is no such file. Pages name those they need.")
    kind = guess_type(name)[0] or "text/plain"
    if takes_gzip(request.headers.get("accept-encoding", "")):
        return Response(file.packed, media_type=kind, headers=HEADERS | {"Content-Encoding": "gzip"})
    return Response(file.plain, media_type=kind, headers=HEADERS)


def takes_gzip(accepted: str) -> bool:
    parts = (part.partition(";q=") for part in re.sub(r"\s", "", accepted.lower()).split(","))
    weights = {name: weight for name, _, weight in parts}
    weight = weights.get("gzip", weights.get("*"))
    return weight is not None and WANTED.fullmatch(weight) is not None


@cache
def _files() -> dict[str, File]:
    return {path.relative_to(ROOT).as_posix(): _read(path.read_bytes()) for path in ROOT.rglob("*") if path.is_file()}


def _read(content: bytes) -> File:
    return File(content, gzip.compress(content, mtime=0))
