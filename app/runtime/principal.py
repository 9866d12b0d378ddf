"""Who is calling, as every floor sees it. The key is what approvals, events and the audit trail are bound to."""

from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote, unquote

IN_PROCESS = (
    "triager.in_process"  # a private ASGI scope key; servers build scopes themselves, so nothing on the wire sets it
)


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody a login, a token or the host vouches for.

    `id` is a user's or token's id, or `<agent>:<instance, percent-encoded>`. `name` is for people to read.
    """

    kind: Literal["operator", "agent", "token"]
    id: str
    name: str
    abilities: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.id}"

    @classmethod
    def agent(cls, name: str, instance: str) -> "Principal":
        """`agent:triager:main`. Encoding keeps `a:b` and `a%3Ab` two instances."""
        return cls("agent", f"{name}:{quote(instance, safe='')}", f"{name}/{instance}")


def agent_of(principal_key: str) -> tuple[str, str] | None:
    """The (agent, instance) behind a principal key, or None when it is not an agent's."""
    kind, _, rest = principal_key.partition(":")
    name, found, instance = rest.partition(":")
    return (name, unquote(instance)) if kind == "agent" and found else None


@dataclass(frozen=True, slots=True)
class InProcess:
    """What an in-process call carries under the `IN_PROCESS` scope key.

    `operation` is the request id of the approval this call spends. In a rehearsal the route's guards and validation
    run, then the tool's preview instead of its handler. `route` is the name of the only route that may answer.
    """

    principal: Principal
    operation: str | None = None
    rehearsal: bool = False
    route: str | None = None
