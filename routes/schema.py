"""What the JSON API is, for programs and for people. Signed in only: a stranger learns nothing of what there is."""

from typing import Any

from litestar import Request, Response, get

from app.auth import console, person
from app.web.openapi import document
from app.web.reference import shapes, surfaces
from routes.pages import page


@get("/schema", name="schema.page", budget=1, guards=[console], include_in_schema=False)
async def schema_page(request: Request[Any, Any, Any]) -> Response[str]:
    described = document(request.app)
    return page("schema.html", surfaces=surfaces(described), shapes=shapes(described))


@get("/schema/openapi.json", name="schema.document", budget=1, guards=[person], include_in_schema=False)
async def schema_document(request: Request[Any, Any, Any]) -> dict[str, Any]:
    return document(request.app)


routes = (schema_page, schema_document)
