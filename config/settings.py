"""Every environment variable the product reads: its name, unit and default, once."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOUR_S = 3600


class SettingMissing(Exception):
    """A setting that this command cannot do without; the message names the command that helps."""


@dataclass(frozen=True, slots=True)
class Settings:
    data_dir: Path = ROOT / "var"  # DATA_DIR: databases, lock, socket
    host: str = "127.0.0.1"  # HOST
    port: int = 3336  # PORT; 0 means any free one
    app_key: str = field(default="", repr=False)  # APP_KEY: base64 of 32 bytes
    previous_keys: tuple[str, ...] = field(default=(), repr=False)  # APP_PREVIOUS_KEYS: comma-separated
    approval_ttl_s: int = 72 * HOUR_S  # APPROVAL_TTL: seconds to answer
    approval_use_ttl_s: int = 24 * HOUR_S  # APPROVAL_USE_TTL: seconds an answered yes may be used
    session_ttl_s: int = 14 * 24 * HOUR_S  # SESSION_TTL: seconds
    allowed_hosts: tuple[str, ...] = ()  # ALLOWED_HOSTS: comma-separated; empty means loopback names and HOST
    trusted_proxies: tuple[str, ...] = ()  # TRUSTED_PROXIES: addresses whose X-Forwarded-* headers are believed
    secure_cookies: bool = True  # SECURE_COOKIES: 0 lets a browser keep a cookie over plain HTTP

    @property
    def database(self) -> Path:
        return self.data_dir / "triager.sqlite"

    @property
    def host_lock(self) -> Path:
        return self.data_dir / "host.lock"

    @property
    def env_file(self) -> Path:
        """Where `triager dev` keeps APP_KEY: beside the project, or in a DATA_DIR of its own."""
        return (ROOT if self.data_dir == ROOT / "var" else self.data_dir) / ".env"


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from the environment, over what `.env` holds. Raises ValueError naming a bad variable."""
    given = os.environ if environ is None else environ
    data_dir = Path(given.get("DATA_DIR") or ROOT / "var").absolute()
    values = {**_read_env_file(Settings(data_dir=data_dir).env_file), **given}
    return Settings(
        data_dir=data_dir,
        host=values.get("HOST") or "127.0.0.1",
        port=_whole(values, "PORT", 3336, at_least=0, at_most=65_535),
        app_key=values.get("APP_KEY", ""),
        previous_keys=_words(values, "APP_PREVIOUS_KEYS"),
        approval_ttl_s=_whole(values, "APPROVAL_TTL", 72 * HOUR_S),
        approval_use_ttl_s=_whole(values, "APPROVAL_USE_TTL", 24 * HOUR_S),
        session_ttl_s=_whole(values, "SESSION_TTL", 14 * 24 * HOUR_S),
        allowed_hosts=_words(values, "ALLOWED_HOSTS"),
        trusted_proxies=_words(values, "TRUSTED_PROXIES"),
        secure_cookies=values.get("SECURE_COOKIES", "1") != "0",
    )


def _read_env_file(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    lines = (line.strip() for line in path.read_text("utf-8-sig").splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name.strip(): value.strip().strip("'\"") for name, _, value in pairs}


def _whole(values: Mapping[str, str], name: str, default: int, *, at_least: int = 1, at_most: int = 10**9) -> int:
    text = values.get(name) or str(default)
    canonical = text.isascii() and text.isdigit() and len(text) <= len(str(at_most))
    if not canonical or not at_least <= int(text) <= at_most:
        raise ValueError(
            f'{name} must be a whole number from {at_least} to {at_most}, not "{text[:40]}". Nothing was started.'
        )
    return int(text)


def _words(values: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in values.get(name, "").split(",") if word.strip())
