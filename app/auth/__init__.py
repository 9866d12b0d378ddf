"""Who is calling, and what that lets them do.

`Authentication` finds out, once per request; the guards say who may use a route. Exemptions hang on a handler's
metadata (`public=True`, `tools_token=True`) or on how the caller got in, never on the text of a path.
"""

from app.auth.guards import console, may_close_ticket, operator, operator_or, person, signed_in
from app.auth.middleware import Authentication, BrowserSession

__all__ = [
    "Authentication",
    "BrowserSession",
    "console",
    "may_close_ticket",
    "operator",
    "operator_or",
    "person",
    "signed_in",
]
