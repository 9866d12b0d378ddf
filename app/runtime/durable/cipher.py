"""Sealing: AES-256-GCM under keys derived from APP_KEY, one per purpose. A row's text opens in no other row."""

import base64
import binascii
import hashlib
from collections.abc import Callable
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

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


class AppKeyCipher:
    """Seals with the first key, opens with any. Sealed text is `<key id>.<base64 of nonce and ciphertext>`."""

    def __init__(self, app_keys: list[str], purpose: str, random: Callable[[int], bytes]) -> None:
        derived = [_derive(decode_key(key), purpose) for key in app_keys]
        self._keys = {_key_id(key): AESGCM(key) for key in derived}
        self._first = next(iter(self._keys))
        self._random = random

    async def seal(self, text: bytes, context: str) -> str:
        nonce = self._random(NONCE_BYTES)
        sealed = self._keys[self._first].encrypt(nonce, text, context.encode())
        return f"{self._first}.{base64.b64encode(nonce + sealed).decode()}"

    def is_current(self, sealed: str) -> bool:
        return sealed.startswith(f"{self._first}.")

    async def open(self, sealed: str, context: str) -> bytes:
        key_id, _, encoded = sealed.partition(".")
        try:
            raw = base64.b64decode(encoded, validate=True)
            return self._keys[key_id].decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], context.encode())
        except (KeyError, InvalidTag, ValueError) as error:
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
    return HKDF(SHA256(), KEY_BYTES, salt=None, info=f"triager/{purpose}".encode()).derive(key)


def _key_id(derived: bytes) -> str:
    return hashlib.sha256(derived).hexdigest()[:8]
