"""What a request's form alone cannot promise."""

from app.domain import Invalid
from app.runtime.instants import from_text, to_text


def instant(field: str, text: str) -> str:
    """The text, which has an instant's form, if its date exists. Raises Invalid."""
    try:
        if to_text(from_text(text)) == text:
            return text
    except ValueError:
        pass
    raise Invalid(
        f'{field} is "{text}", which is no instant. Nothing was changed. Send one like 2026-11-29T17:00:00.000Z.'
    )
