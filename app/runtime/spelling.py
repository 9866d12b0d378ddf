"""What somebody may have meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """` Did you mean "tickets_close"?`, to end a refusal with; empty when nothing known comes near."""
    near = get_close_matches(str(word)[:100], list(known), n=1)
    return f' Did you mean "{near[0]}"?' if near else ""
