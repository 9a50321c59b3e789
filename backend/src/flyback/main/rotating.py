"""Seals every stored secret with a new key.

The new key is put before the old one first, so that a death at any point leaves both; the old one goes when nothing is
sealed with it any more.
"""

from __future__ import annotations

import os

from flyback.main.product import ProductOptions, database_url
from flyback.storage import secrets
from flyback.storage.data_folder import DataFolder
from flyback.storage.database import Database
from flyback.storage.secret_box import KEY_VARIABLE, SecretBox


async def rotate_secrets(options: ProductOptions) -> int:
    """Return how many secrets there are.

    Raises:
        DataFolderHeldError: a server works on the folder; it would go on with the old key.
        SecretKeyMissingError: a secret was sealed with a key that is not here.
    """
    folder = DataFolder.hold(options.data)
    try:
        database = await Database.open(database_url(options))
        try:
            box = SecretBox.open(options.data, key_text=os.environ.get(KEY_VARIABLE))
            box.check(await database.read(secrets.key_ids))
            box.add_key()
            count = await database.write(lambda conn: secrets.seal_again(conn, box))
            box.drop_old_keys()
            return count
        finally:
            await database.close()
    finally:
        folder.release()
