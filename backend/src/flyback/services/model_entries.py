"""The house's model entries with their keys opened: what the catalogue reads, whoever's run it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from flyback.domain.errors import SecretKeyMissingError
from flyback.domain.model_entry import ModelEntry
from flyback.domain.redaction import Redactor
from flyback.providers.catalog import OpenedEntry
from flyback.storage import models as stored
from flyback.storage import secrets
from flyback.storage.auth import house_of
from flyback.storage.database import Database
from flyback.storage.secret_box import SecretBox


async def check_key(database: Database, box: SecretBox) -> None:
    """Called at every start.

    Raises:
        SecretKeyMissingError: secrets are stored, and the key that sealed them is not here.
    """
    box.check(await database.read(secrets.key_ids))


class StoredEntries:
    """The entries with their keys, for the catalogue. Whoever reads a key here has taught it to the redaction."""

    def __init__(self, database: Database, box: SecretBox, redactor: Redactor) -> None:
        self._database = database
        self._box = box
        self._redactor = redactor

    async def load(self, owner_id: str) -> Sequence[OpenedEntry]:
        def work(conn: Connection) -> list[OpenedEntry]:
            house_id = house_of(conn, owner_id)
            sealed = {secret.id: secret for secret in secrets.all_of(conn, house_id)}
            return [self._opened(entry, sealed) for entry in stored.all_of(conn, house_id)]

        return await self._database.read(work)

    def _opened(self, entry: ModelEntry, sealed: Mapping[str, secrets.SealedSecret]) -> OpenedEntry:
        if entry.secret_id is None:
            return OpenedEntry(entry)
        secret = sealed.get(entry.secret_id)
        if secret is None:
            return OpenedEntry(entry, trouble="its key is not stored any more.")
        try:
            key = secret.open(self._box)
        except SecretKeyMissingError as error:
            return OpenedEntry(entry, trouble=error.message)
        self._redactor.learn(key)
        return OpenedEntry(entry, api_key=key)
