"""What people, files and logs must not see: values under keys that sound like a secret, and text that looks like one.

It looks into every depth, and into JSON that hides in a text. The tool itself gets what it was given. No pattern can
run over the same text again and again, so a megabyte takes a moment.
"""

import re
from functools import lru_cache
from typing import Any

import msgspec

HIDDEN = "[REDACTED]"
SECRET = (
    *("password", "passphrase", "passwd", "pwd", "secret", "token", "jwt", "apikey", "accesskey", "privatekey"),
    *("authorization", "credential", "cookie", "session"),
)
DEPTH_MAX = 64
QUOTE_MIN = 4  # characters of a secret that are looked for in messages
KEY_MAX = 200  # characters of a key that are looked at
SEPARATORS = re.compile(r"[\W_]+")

WORDS = "|".join(SECRET).replace("key", "[-_. ]?key")  # as they stand in a text: api_key, private key
QUOTED = r"(?P<quote>\\{0,4}[\"'])(?:(?!(?P=quote))(?:\\.|.))*"
BARE = r"(?:\{|\[(?!REDACTED\]))[^\n]*|(?:(?:bearer|basic|digest|negotiate) +)?[^\s,;&\"'\\]+"
SPELT_OUT = (  # tokens that say themselves what they are, ours among them
    r"(?<![\w-])(?:[spr]k[-_][\w-]{16,}|gh[a-z]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}"
    r"|npm_\w{20,}|aiza[\w-]{20,}|akia[a-z0-9]{12,}|eyj[\w-]{4,}\.[\w-]{4,}[\w.-]*|trg_[a-z0-9]+_[\w-]+)"
)
# A pattern runs only over a text that holds one of its words: looking for those is a hundred times faster.
PATTERNS = (
    ("cookie", r"((?:set-)?cookie\s{0,4}:\s{0,4})[^\"'\n]+", rf"\1{HIDDEN}"),  # a header's whole line
    (
        " ".join({word.removesuffix("key") for word in SECRET}),
        rf"((?:{WORDS})[\w.-]{{0,32}}+[\\\"'\])]{{0,8}}+\s{{0,4}}+[:=]\s{{0,4}}+)(?:{QUOTED}|{BARE})",
        rf"\1\g<quote>{HIDDEN}",
    ),
    ("bearer", r"\b(bearer +)(?!tokens?\b)[^\s,;\"'\\]+", rf"\1{HIDDEN}"),
    ("basic", r"\b(basic +)(?-i:(?=\w{0,20}[a-z]\w{0,20}[A-Z0-9=]))[\w+/]{6,}=*", rf"\1{HIDDEN}"),
    ("://", r"(\b[a-z][a-z0-9+.-]{0,30}://)[^\s/?#\"']+@", rf"\1{HIDDEN}@"),  # https://user:password@host/
    ("sk- sk_ pk- pk_ rk- rk_ ghp_ gho_ ghu_ ghs_ ghr_ github_ glpat xox npm_ aiza akia eyj trg_", SPELT_OUT, HIDDEN),
    ("private key-----", r"(-----BEGIN [a-z ]{0,30}PRIVATE KEY-----)[^-]*", rf"\1{HIDDEN}"),
)
COMPILED = [
    (words.split(), re.compile(pattern, re.IGNORECASE | re.DOTALL), instead) for words, pattern, instead in PATTERNS
]
ANY = [word for words, _, _ in COMPILED for word in words]


def redact(value: Any, extra: tuple[str, ...] = (), depth: int = 0, *, lengths: bool = False) -> Any:
    """A deep copy with secrets replaced by `[REDACTED]`. `extra` adds key fragments; the input stays untouched.

    With `lengths`, a text under such a key becomes `[REDACTED, 12 characters]`: a person is told what they do not see.
    """
    if depth > DEPTH_MAX:
        return "[TRUNCATED]"
    if isinstance(value, dict):
        return {
            key: _hidden(item, lengths) if _is_secret(key, extra) else redact(item, extra, depth + 1, lengths=lengths)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact(item, extra, depth + 1, lengths=lengths) for item in value]
    return redact_text(_inside(value, extra, depth)) if isinstance(value, str) else value


def redact_text(text: str) -> str:
    """What looks like a credential is replaced: `password=…`, `Bearer …`, `https://user:…@host/`, `ghp_…`."""
    lower = text.lower()
    if not any(map(lower.__contains__, ANY)):
        return text
    for words, pattern, instead in COMPILED:
        if any(map(lower.__contains__, words)):
            text = pattern.sub(instead, text)
    return text


def secrets_in(value: Any, extra: tuple[str, ...] = (), hidden: bool = False) -> set[str]:
    """The texts that `redact` hides for their keys: an error message may quote one. Short ones tell nothing."""
    if isinstance(value, dict):
        return {s for key, item in value.items() for s in secrets_in(item, extra, hidden or _is_secret(key, extra))}
    if isinstance(value, list | tuple):
        return {s for item in value for s in secrets_in(item, extra, hidden)}
    return {value} if hidden and isinstance(value, str) and len(value) >= QUOTE_MIN else set()


def _hidden(value: Any, lengths: bool) -> str:
    return f"{HIDDEN[:-1]}, {len(value)} characters]" if lengths and isinstance(value, str) else HIDDEN


def _inside(text: str, extra: tuple[str, ...], depth: int) -> str:
    """JSON in a text, redacted like any other; the text as it is when there is none, or nothing to hide."""
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return text
    try:
        found = msgspec.json.decode(text)
        shown = redact(found, extra, depth + 1)
        return text if shown == found else msgspec.json.encode(shown).decode()
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return text


def _is_secret(key: Any, extra: tuple[str, ...]) -> bool:
    return _sounds_secret(str(key)[:KEY_MAX], extra)


@lru_cache(1024)
def _sounds_secret(key: str, extra: tuple[str, ...]) -> bool:
    plain = _normal(key)
    return any(fragment in plain for fragment in (*SECRET, *filter(None, map(_normal, extra))))


def _normal(key: str) -> str:
    """Without what separates words: X-Api-Key and api.key sound alike."""
    return SEPARATORS.sub("", key.lower())
