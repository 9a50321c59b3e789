"""Another key for the stored secrets: whole or not at all, wherever the process dies."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
import sqlalchemy as sa

from flyback.domain.errors import DataFolderHeldError, SecretKeyMissingError
from flyback.main.product import ProductOptions, database_url
from flyback.main.rotating import rotate_secrets
from flyback.storage import secrets
from flyback.storage.data_folder import DataFolder
from flyback.storage.database import Database
from flyback.storage.secret_box import KEY_FILE, KEY_VARIABLE, SecretBox

_TEXTS = {"a": "sk-first", "b": "sk-second"}


async def _stored(options: ProductOptions, box: SecretBox) -> None:
    database = await Database.open(database_url(options))

    def work(conn: sa.Connection) -> None:
        for name, text in _TEXTS.items():
            secrets.put(conn, box, text, secret_id=name, owner_id="me", created_at="2026-01-01T00:00:00.000Z")

    await database.write(work)
    await database.close()


async def _opened(options: ProductOptions, box: SecretBox) -> dict[str, str]:
    database = await Database.open(database_url(options))
    sealed = await database.read(lambda conn: secrets.all_of(conn, "me"))
    await database.close()
    return {one.id: one.open(box) for one in sealed}


@pytest.fixture
def options(tmp_path: Path) -> ProductOptions:
    return ProductOptions(tmp_path, None, "default")


async def test_every_secret_is_opened_by_the_new_key_and_by_the_old_one_no_more(
    options: ProductOptions, tmp_path: Path
) -> None:
    await _stored(options, SecretBox.open(tmp_path))
    old = (tmp_path / KEY_FILE).read_text()
    assert await rotate_secrets(options) == 2
    new = (tmp_path / KEY_FILE).read_text()
    assert len(new.split()) == 1
    assert new != old
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert await _opened(options, SecretBox.open(tmp_path)) == _TEXTS
    with pytest.raises(SecretKeyMissingError):
        await _opened(options, SecretBox.open(tmp_path, key_text=old))


async def test_given_a_death_between_the_two_keys_then_everything_is_opened_and_it_can_be_done_again(
    options: ProductOptions, tmp_path: Path
) -> None:
    await _stored(options, SecretBox.open(tmp_path))
    SecretBox.open(tmp_path).add_key()
    both = SecretBox.open(tmp_path)
    assert await _opened(options, both) == _TEXTS
    await rotate_secrets(options)
    assert await _opened(options, SecretBox.open(tmp_path)) == _TEXTS
    assert len((tmp_path / KEY_FILE).read_text().split()) == 1


async def test_a_key_of_the_environment_is_put_before_the_old_one_by_the_operator(
    options: ProductOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = (base64.b64encode(os.urandom(32)).decode() for _ in range(2))
    await _stored(options, SecretBox.open(tmp_path, key_text=old))
    monkeypatch.setenv(KEY_VARIABLE, f"{new} {old}")
    await rotate_secrets(options)
    assert await _opened(options, SecretBox.open(tmp_path, key_text=new)) == _TEXTS
    assert not (tmp_path / KEY_FILE).exists()


async def test_while_somebody_works_on_the_folder_nothing_is_changed(options: ProductOptions, tmp_path: Path) -> None:
    await _stored(options, SecretBox.open(tmp_path))
    before = (tmp_path / KEY_FILE).read_text()
    held = DataFolder.hold(tmp_path)
    try:
        with pytest.raises(DataFolderHeldError):
            await rotate_secrets(options)
    finally:
        held.release()
    assert (tmp_path / KEY_FILE).read_text() == before
