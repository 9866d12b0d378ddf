"""The desk somebody sits at: every page of the console is shown, and every action done, through it.

There is one way to render: a whole page. An action is a form that redirects to the page where its outcome shows; htmx
follows, and takes from the whole page the part that changed (`hx-select` in templates/desk.html). So nothing is a bare
fragment, and all of it works without JavaScript.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from litestar import Request, Response
from litestar.di import NamedDependency
from litestar.response import Redirect

from app.auth import BrowserSession
from app.domain import Conflict, Refusal
from app.runtime.durable.host import Host, Stub
from app.runtime.errors import Halted
from app.runtime.principal import Principal
from app.runtime.tools.brakes import Brakes
from app.services.frame import frame
from app.services.users import OPERATE
from db.engine import Database
from routes.pages import page

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Desk:
    request: Request[Principal, Any, Any]
    db: Database
    now: datetime
    host: Host

    async def show(self, template: str, *, notice: str | None = None, status: int = 200, **more: Any) -> Response[str]:
        """A page with what stands around it. `notice` is said at its top; with an error's status, as an error."""
        around = await self.db.read(frame, self.now)
        auth = self.request.auth
        return page(
            template,
            status=status,
            notice=notice,
            bad=status >= 400,  # noqa: PLR2004 (HTTP)
            waiting=around.waiting,
            seen=around.seen,
            brakes=around.brakes,
            halted=Brakes(around.brakes).halted,
            csrf=auth.csrf if isinstance(auth, BrowserSession) else "",
            path=self.request.scope["path"],
            name=self.request.user.name,
            may_operate=OPERATE in self.request.user.abilities,
            now=self.now,
            **more,
        )

    async def act(
        self, action: Awaitable[T], *, then: Callable[[T], str], on: Callable[[str, int], Awaitable[Response[str]]]
    ) -> Response[Any]:
        """Do it, and lead to the address where its outcome shows. A refusal is said on the page its button is on:
        `on(words, status)` shows that.
        """
        try:
            done = await action
        except Halted as halted:
            return await on(str(halted), Conflict.status)
        except Refusal as refusal:
            return await on(str(refusal), refusal.status)
        return Redirect(then(done), status_code=303)

    @property
    def agent(self) -> Stub:
        return self.host.get("triager", "main")


async def desk(
    request: Request[Principal, Any, Any],
    db: NamedDependency[Database],
    now: NamedDependency[datetime],
    host: NamedDependency[Host],
) -> Desk:
    return Desk(request, db, now, host)
