"""Which model file may be used, and which choice means which model."""

from __future__ import annotations

from pathlib import Path

import pytest

from flyback.domain.errors import InvalidError, ModelUnavailableError
from flyback.providers.embedded.model_file import checked_file
from flyback.providers.embedded.releases import PackageSource, choose_model, release, releases
from kit.model_files import a_release

CONTENT = b"GGUF and so on"


def test_given_no_file_it_says_how_to_fetch_it(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError) as failure:
        checked_file(a_release(CONTENT), tmp_path)
    assert failure.value.fix is not None
    assert "flyback models pull tiny" in failure.value.fix


def test_given_a_file_that_a_person_put_there_it_is_hashed_before_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(CONTENT)
    assert checked_file(a_release(CONTENT), tmp_path) == tmp_path / "tiny.gguf"


def test_given_a_file_that_changed_since_it_was_checked_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(CONTENT)
    checked_file(a_release(CONTENT), tmp_path)
    path.write_bytes(CONTENT[::-1])
    with pytest.raises(ModelUnavailableError, match="hash differs"):
        checked_file(a_release(CONTENT), tmp_path)


def test_given_a_path_to_a_gguf_file_it_may_be_used_whatever_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "own.gguf"
    path.write_bytes(CONTENT)
    assert checked_file(path, tmp_path) == path


def test_given_a_path_to_some_other_file_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.gguf"
    path.write_bytes(b"\x80\x04pickled")
    with pytest.raises(ModelUnavailableError, match="no GGUF file"):
        checked_file(path, tmp_path)


def test_the_standard_model_is_the_default_and_the_small_one_can_be_named() -> None:
    assert release().name == "standard"
    assert choose_model(None) == release()
    assert choose_model("small") == release("small")


def test_a_choice_may_be_the_path_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "own.gguf"
    path.write_bytes(CONTENT)
    assert choose_model(str(path)) == path


@pytest.mark.parametrize("choice", ["huge", "/nowhere/own.gguf"])
def test_an_unknown_choice_is_refused_with_the_names_that_there_are(choice: str) -> None:
    with pytest.raises(InvalidError):
        choose_model(choice)


def test_the_parts_of_each_release_add_up_to_its_size() -> None:
    for found in releases():
        for source in found.sources:
            if isinstance(source, PackageSource):
                assert (source.parts - 1) * source.part_bytes < found.size_bytes <= source.parts * source.part_bytes
