"""When are two calls the same call? When their validated arguments have one canonical text."""

import hashlib
import math
from typing import Any

import msgspec

_encoder = msgspec.json.Encoder(order="deterministic")


def canonical(arguments: dict[str, Any]) -> bytes:
    """JSON without white space, keys sorted at every depth, strings unescaped and compared code point by code point.

    Minus zero is zero. Raises ValueError for what JSON cannot say (NaN, infinities, lone surrogates) or nobody reads
    (a thousand levels).
    """
    try:
        return _encoder.encode(_plain(arguments))
    except UnicodeEncodeError as error:
        raise ValueError("a text holds half of a surrogate pair") from error
    except RecursionError as error:
        raise ValueError("the arguments are nested too deeply") from error


def fingerprint(arguments: dict[str, Any]) -> str:
    """The SHA-256 of the canonical text, 64 lowercase hex digits."""
    return hashlib.sha256(canonical(arguments)).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a number that JSON knows")
        return value + 0.0  # -0.0 becomes 0.0
    if value is not None and not isinstance(value, str | int):
        raise ValueError(f"{type(value).__name__} is nothing that JSON knows")
    return value
