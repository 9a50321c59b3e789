"""Sealed secrets: what the key opens, where the key lies, and what happens without it."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyback.domain.errors import SecretKeyMissingError
from flyback.storage.secret_box import KEY_FILE, SecretBox

KEY_TEXT = base64.b64encode(bytes(range(32))).decode()


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_what_was_sealed_is_opened_again_and_is_not_readable_between(text: str) -> None:
    box = SecretBox.open(Path("/nowhere"), key_text=KEY_TEXT)
    sealed, key_id = box.seal(text, secret_id="s", owner_id="o")
    assert box.unseal(sealed, key_id=key_id, secret_id="s", owner_id="o") == text
    assert len(text) < 4 or text.encode() not in sealed
    assert box.seal(text, secret_id="s", owner_id="o")[0] != sealed


def test_the_key_is_made_with_the_first_secret_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    box = SecretBox.open(tmp_path)
    assert box.key_id is None
    assert list(tmp_path.iterdir()) == []
    sealed, key_id = box.seal("sk-1", secret_id="s", owner_id="o")
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600
    # when the program starts again, then it opens what was sealed
    again = SecretBox.open(tmp_path)
    assert again.unseal(sealed, key_id=key_id, secret_id="s", owner_id="o") == "sk-1"
    again.check({key_id})


def test_a_key_file_that_others_may_read_is_closed(tmp_path: Path) -> None:
    SecretBox.open(tmp_path).seal("x", secret_id="s", owner_id="o")
    (tmp_path / KEY_FILE).chmod(0o644)
    SecretBox.open(tmp_path)
    assert (tmp_path / KEY_FILE).stat().st_mode & 0o777 == 0o600


def test_given_secrets_and_no_key_the_program_refuses_with_a_clear_text(tmp_path: Path) -> None:
    _, key_id = SecretBox.open(tmp_path).seal("x", secret_id="s", owner_id="o")
    (tmp_path / KEY_FILE).unlink()
    without = SecretBox.open(tmp_path)
    without.check(set())
    other = SecretBox.open(tmp_path, key_text=KEY_TEXT)
    for box in (without, other):
        with pytest.raises(SecretKeyMissingError, match=KEY_FILE) as caught:
            box.check({key_id})
        assert "FLYBACK_SECRET_KEY" in (caught.value.fix or "")


@pytest.mark.parametrize("text", ["short", "=", "A" * 44, "ä" * 32])
def test_a_key_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SecretKeyMissingError, match="does not hold a key"):
        SecretBox.open(tmp_path, key_text=text)
    (tmp_path / KEY_FILE).write_text(text)
    with pytest.raises(SecretKeyMissingError, match="does not hold a key"):
        SecretBox.open(tmp_path)


def test_a_sealed_value_is_bound_to_its_row_its_owner_and_itself() -> None:
    box = SecretBox.open(Path("/nowhere"), key_text=KEY_TEXT)
    sealed, key_id = box.seal("x", secret_id="s", owner_id="o")
    with pytest.raises(SecretKeyMissingError):
        box.unseal(sealed, key_id=key_id, secret_id="other", owner_id="o")
    with pytest.raises(SecretKeyMissingError):
        box.unseal(sealed, key_id=key_id, secret_id="s", owner_id="other")
    with pytest.raises(SecretKeyMissingError):
        box.unseal(sealed[:-1] + b"\x00", key_id=key_id, secret_id="s", owner_id="o")
