"""Is the process up?"""

from litestar import get


@get("/health", name="health", public=True)
async def health() -> dict[str, bool]:
    return {"ok": True}
