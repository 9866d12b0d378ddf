"""Static files: a handful, read once and served from memory. Anything else is not there."""

from functools import cache
from mimetypes import guess_type

from litestar import Response, get
from litestar.params import FromPath, FromQuery

from app.domain import NotFound
from routes.pages import TEMPLATES

ROOT = TEMPLATES / "static"
HEADERS = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}


@get("/static/{name:path}", name="static.file", public=True, include_in_schema=False)
async def static_file(name: FromPath[str], v: FromQuery[str] = "") -> Response[bytes]:
    """`v` is the file's content in short (`pages.static_url`): a browser may keep what it has for ever."""
    content = _files().get(name.lstrip("/"))
    if content is None:
        raise NotFound("There is no such file. Pages name those they need.")
    return Response(content, media_type=guess_type(name)[0] or "text/plain", headers=HEADERS)


@cache
def _files() -> dict[str, bytes]:
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in ROOT.rglob("*") if path.is_file()}
