"""Sealing: secrets are stored encrypted, with a key that is not in the database.

The key lies in a file beside the database, readable by its owner alone, or comes from the environment. It is made with
the first secret. A sealed value is bound to its row and owner, so that rows cannot be exchanged; the id of the key is
stored with it, so that a wrong key is known before anything is opened. While keys are exchanged there are two, the newest
first: it seals, and both open.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from flyback.domain.errors import SecretKeyMissingError

KEY_VARIABLE = "FLYBACK_SECRET_KEY"
KEY_FILE = "secret.key"
_FORM = b"\x01"
_NONCE_BYTES = 12
_KEY_BYTES = 32
_MAKE_ONE = f"Make one with: python3 -c 'import base64, os; print(base64.b64encode(os.urandom({_KEY_BYTES})).decode())'"


class SecretBox:
    """Seals and opens. Blocking; called where the database is worked on, in threads."""

    def __init__(self, path: Path, keys: Sequence[bytes], *, in_file: bool) -> None:
        self._path = path
        self._keys = list(keys)
        self._in_file = in_file

    @classmethod
    def open(cls, folder: Path, *, key_text: str | None = None) -> SecretBox:
        """Take the keys from the environment's text, else from the folder. No key yet is fine.

        Raises:
            SecretKeyMissingError: what was given, or lies there, is no key.
        """
        path = folder / KEY_FILE
        if key_text:
            return cls(path, _read_keys(key_text, f"The environment variable {KEY_VARIABLE}"), in_file=False)
        if not path.exists():
            return cls(path, [], in_file=True)
        path.chmod(0o600)
        text = path.read_text(encoding="ascii", errors="replace")
        return cls(path, _read_keys(text, f"The file {str(path)!r}"), in_file=True)

    @property
    def key_id(self) -> str | None:
        """The name of the key that seals; None while there is none."""
        return _id_of(self._keys[0]) if self._keys else None

    def seal(self, text: str, *, secret_id: str, owner_id: str) -> tuple[bytes, str]:
        """Return the sealed text and the id of its key. Makes the key where there is none."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # only where there are secrets: it takes 8 MB

        if not self._keys:
            self._keys = self._make_key()
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(self._keys[0]).encrypt(nonce, text.encode("utf-8"), _bound_to(secret_id, owner_id))
        return _FORM + nonce + sealed, _id_of(self._keys[0])

    def unseal(self, sealed: bytes, *, key_id: str, secret_id: str, owner_id: str) -> str:
        """Raises SecretKeyMissingError: it was sealed with another key, or it is damaged."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        key = next((key for key in self._keys if _id_of(key) == key_id), None)
        if key is None:
            raise missing_key(self._path)
        nonce, body = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        try:
            return AESGCM(key).decrypt(nonce, body, _bound_to(secret_id, owner_id)).decode("utf-8")
        except (InvalidTag, ValueError):
            raise SecretKeyMissingError("A stored secret is damaged.", fix="Enter it again.") from None

    def check(self, key_ids: set[str]) -> None:
        """Refuse to go on where secrets are stored that this key does not open.

        Raises:
            SecretKeyMissingError: the key is not there, or it is another one.
        """
        if key_ids - {_id_of(key) for key in self._keys}:
            raise missing_key(self._path)

    def add_key(self) -> None:
        """Put a new key before the others. Keys of the environment are the operator's: there the new one must be first."""
        if self._in_file and self._keys:
            self._keep([secrets.token_bytes(_KEY_BYTES), *self._keys])

    def drop_old_keys(self) -> None:
        """Forget every key but the newest, when nothing is sealed with another one."""
        if self._in_file and self._keys:
            self._keep(self._keys[:1])

    def _keep(self, keys: Sequence[bytes]) -> None:
        """Write the key file anew, whole or not at all."""
        new = self._path.with_suffix(".new")
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.writelines(base64.b64encode(key) + b"\n" for key in keys)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)
        self._keys = list(keys)

    def _make_key(self) -> Sequence[bytes]:
        key = secrets.token_bytes(_KEY_BYTES)
        try:
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:  # another process made it at this moment
            return _read_keys(self._path.read_text(encoding="ascii"), f"The file {str(self._path)!r}")
        with os.fdopen(handle, "wb") as file:
            file.write(base64.b64encode(key) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        return [key]


def missing_key(path: Path) -> SecretKeyMissingError:
    return SecretKeyMissingError(
        f"Secrets are stored that were sealed with a key which is not here: neither in {str(path)!r} nor in {KEY_VARIABLE}.",
        fix=f"Put the key file back from your backup, or set {KEY_VARIABLE} to its content. Without the key the stored "
        "keys of models cannot be read.",
    )


def _bound_to(secret_id: str, owner_id: str) -> bytes:
    return f"{owner_id}/{secret_id}".encode()


def _id_of(key: bytes) -> str:
    return hashlib.sha256(b"flyback key" + key).hexdigest()[:16]


def _read_keys(text: str, where: str) -> Sequence[bytes]:
    return [_read_key(word, where) for word in text.split() or [""]]


def _read_key(text: str, where: str) -> bytes:
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _KEY_BYTES:
        raise SecretKeyMissingError(f"{where} does not hold a key: {_KEY_BYTES} bytes in base64.", fix=_MAKE_ONE)
    return key
