"""What keeps the product from running on Cloudflare: which rule, where, in words, and the JSON that mends it."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class Fault(NamedTuple):
    """`where` is `path:line`, or a path. `paste` belongs into wrangler.jsonc; of a list it has what is missing."""

    rule: str
    where: str
    said: str
    paste: Mapping[str, Any] = {}


def together(faults: Iterable[Fault]) -> dict[str, Any]:
    """What the faults would have one paste, as one document."""
    merged: dict[str, Any] = {}
    for fault in faults:
        merged = _merge(merged, fault.paste)
    return merged


def _merge(one: Any, other: Any) -> Any:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return {**one, **{key: _merge(one[key], value) if key in one else value for key, value in other.items()}}
    if isinstance(one, list) and isinstance(other, list):
        return one + [each for each in other if each not in one]
    return other
