"""The cipher of one machine. What it seals, and how, is `sealing.py`."""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from app.runtime.durable.sealing import Sealing


class AppKeyCipher(Sealing):
    async def _encrypt(self, key: bytes, nonce: bytes, text: bytes, context: bytes) -> bytes:
        return AESGCM(key).encrypt(nonce, text, context)

    async def _decrypt(self, key: bytes, nonce: bytes, sealed: bytes, context: bytes) -> bytes:
        try:
            return AESGCM(key).decrypt(nonce, sealed, context)
        except InvalidTag as error:
            raise ValueError("It does not fit.") from error
