"""Large values, stored once by the hash of their content.

An output that is too large for its row lies here as the JSON text it would have had there, so that SQL can read it too.
A blob is never changed; it is deleted only when no row names it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import sqlalchemy as sa

from flyback.storage import tables as t

ROW_LIMIT_BYTES = 64 * 1024
"""An output up to this size stands in its row."""


@dataclass(frozen=True, slots=True)
class Blob:
    hash: str
    content: bytes


def blob_of(content: bytes) -> Blob:
    return Blob(hashlib.sha256(content).hexdigest(), content)


def contents(conn: sa.Connection, hashes: set[str]) -> dict[str, bytes]:
    """Read blobs: hash to content, without those that are missing."""
    found: dict[str, bytes] = {}
    wanted = sorted(hashes)
    for start in range(0, len(wanted), 500):
        part = sa.select(t.blobs.c.hash, t.blobs.c.content).where(t.blobs.c.hash.in_(wanted[start : start + 500]))
        found.update({row.hash: bytes(row.content) for row in conn.execute(part)})
    return found
