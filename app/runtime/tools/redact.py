"""What people and logs must not see: values under keys that sound like a secret, at every depth."""

from typing import Any

SECRET = (
    *("password", "passphrase", "pwd", "secret", "token", "jwt", "apikey", "privatekey"),
    *("authorization", "credential", "cookie", "session"),
)
DEPTH_MAX = 64


def redact(value: Any, extra: tuple[str, ...] = (), depth: int = 0) -> Any:
    """A deep copy with secrets replaced by `[REDACTED]`. `extra` adds key fragments; the input stays untouched."""
    if depth > DEPTH_MAX:
        return "[TRUNCATED]"
    if isinstance(value, dict):
        return {
            key: "[REDACTED]" if _is_secret(key, extra) else redact(item, extra, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [redact(item, extra, depth + 1) for item in value]
    return value


def _is_secret(key: str, extra: tuple[str, ...]) -> bool:
    plain = _normal(key)
    return any(fragment in plain for fragment in (*SECRET, *filter(None, map(_normal, extra))))


def _normal(key: str) -> str:
    return "".join(character for character in key.lower() if character not in "-_ \t")
