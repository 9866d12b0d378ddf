"""The cipher where WebCrypto is the only one there is. What it seals, and how, is `runtime/durable/sealing.py`."""

from typing import Any

import js
from pyodide.ffi import JsException, to_js

from app.runtime.durable.sealing import Sealing


class WebCryptoCipher(Sealing):
    async def _encrypt(self, key: bytes, nonce: bytes, text: bytes, context: bytes) -> bytes:
        return await _aes_gcm("encrypt", key, nonce, text, context)

    async def _decrypt(self, key: bytes, nonce: bytes, sealed: bytes, context: bytes) -> bytes:
        try:
            return await _aes_gcm("decrypt", key, nonce, sealed, context)
        except JsException as error:
            raise ValueError("It does not fit.") from error


async def _aes_gcm(how: str, key: bytes, nonce: bytes, data: bytes, context: bytes) -> bytes:
    subtle = js.crypto.subtle
    imported = await subtle.importKey("raw", _js(key), "AES-GCM", False, _js([how]))
    parameters = _js({"name": "AES-GCM", "iv": nonce, "additionalData": context})
    done = await getattr(subtle, how)(parameters, imported, _js(data))
    return bytes(done.to_py())


def _js(value: Any) -> Any:
    return to_js(value, dict_converter=js.Object.fromEntries)
