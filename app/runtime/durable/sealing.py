"""Sealing: AES-256-GCM under keys derived from APP_KEY, one per purpose. A row's text opens in no other row.

One format on every host: what is sealed on one opens on another.
"""

import base64
import binascii
import hashlib
import hmac
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from app.runtime.errors import Unreadable

KEY_BYTES = 32
NONCE_BYTES = 12


class Cipher(Protocol):
    """Async from the first day: WebCrypto is."""

    async def seal(self, text: bytes, context: str) -> str: ...

    def is_current(self, sealed: str) -> bool:
        """Was it sealed under the key that seals now?"""

    async def open(self, sealed: str, context: str) -> bytes:
        """Raises Unreadable when no key opens it, or when it was sealed for another context."""


class Sealing(ABC):
    """Seals with the first key, opens with any. Sealed text is `<key id>.<base64 of nonce and ciphertext>`."""

    def __init__(self, app_keys: list[str], purpose: str, random: Callable[[int], bytes]) -> None:
        derived = [_derive(decode_key(key), purpose) for key in app_keys]
        self._keys = {hashlib.sha256(key).hexdigest()[:8]: key for key in derived}
        self._first = next(iter(self._keys))
        self._random = random

    @abstractmethod
    async def _encrypt(self, key: bytes, nonce: bytes, text: bytes, context: bytes) -> bytes: ...

    @abstractmethod
    async def _decrypt(self, key: bytes, nonce: bytes, sealed: bytes, context: bytes) -> bytes:
        """Raises ValueError when it does not fit."""

    async def seal(self, text: bytes, context: str) -> str:
        nonce = self._random(NONCE_BYTES)
        sealed = await self._encrypt(self._keys[self._first], nonce, text, context.encode())
        return f"{self._first}.{base64.b64encode(nonce + sealed).decode()}"

    def is_current(self, sealed: str) -> bool:
        return sealed.startswith(f"{self._first}.")

    async def open(self, sealed: str, context: str) -> bytes:
        key_id, _, encoded = sealed.partition(".")
        try:
            raw = base64.b64decode(encoded, validate=True)
            return await self._decrypt(self._keys[key_id], raw[:NONCE_BYTES], raw[NONCE_BYTES:], context.encode())
        except (KeyError, ValueError) as error:
            raise Unreadable(f"Sealed under key {key_id[:8]}; no key given opens it here.") from error


def decode_key(app_key: str) -> bytes:
    """The 32 bytes of an APP_KEY. Raises ValueError for anything else."""
    try:
        raw = base64.b64decode(app_key, validate=True)
    except binascii.Error:
        raw = b""
    if len(raw) != KEY_BYTES:
        raise ValueError("APP_KEY must be the base64 of 32 bytes. Nothing was done. Print a fresh one: triager key")
    return raw


def _derive(key: bytes, purpose: str) -> bytes:
    """HKDF-SHA-256 without salt; one block of it is as long as a key."""
    extracted = hmac.digest(bytes(32), key, "sha256")
    return hmac.digest(extracted, f"triager/{purpose}".encode() + b"\x01", "sha256")
