"""The corpus of odd SKILL.md files: what is read of each, and that nothing near to them breaks the reader or loses a file."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict
from pathlib import Path

import pytest

from flyback.domain.errors import InvalidError, TooLargeError
from flyback.providers.skill_archive import add_upload
from flyback.providers.skill_folders import SkillFolders
from flyback.providers.skill_text import fields_of, read_skill, tools_of
from kit.fuzz import fed_with, seeds
from kit.golden import Golden

pytestmark = pytest.mark.timeout(3_600)  # the long search
CORPUS = seeds("skills")


def _understood(raw: bytes) -> object:
    text = read_skill(raw)
    inputs, wrong_inputs = fields_of(text.front, "inputs")
    outputs, wrong_outputs = fields_of(text.front, "outputs")
    return {
        "name": text.name,
        "description": text.description,
        "body": text.body,
        "usable": text.usable,
        "problems": [*text.problems, *wrong_inputs, *wrong_outputs],
        "inputs": [asdict(field) for field in inputs],
        "outputs": [asdict(field) for field in outputs],
        "allowedTools": tools_of(text.front),
    }


def test_each_file_of_the_corpus_is_read_as_it_was_approved(golden: Golden) -> None:
    understood = {name: _understood(raw) for name, raw in CORPUS.items()}
    golden.check("skills/corpus.json", json.dumps(understood, ensure_ascii=False, indent=1))


@pytest.mark.parametrize("raw", CORPUS.values(), ids=CORPUS)
def test_a_file_on_disk_is_listed_and_keeps_its_bytes_when_it_is_saved_as_it_was_read(
    tmp_path: Path, raw: bytes
) -> None:
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "SKILL.md").write_bytes(raw)
    folders = SkillFolders(tmp_path)
    (skill,) = folders.all()
    folders.save("odd", skill.text.source)
    assert (folder / "SKILL.md").read_bytes() == raw
    assert [path.name for path in folder.iterdir()] == ["SKILL.md"]


_BITS = [b"---\n", b"\n", b"\r\n", b": ", b"- ", b"\t", b"'", b'"', b"|\n", b"&a ", b"*a", b"!!x ", b"\xff"]


@fed_with("skills", _BITS)
def test_what_is_near_to_it_is_read_or_refused_with_a_reason(raw: bytes) -> None:
    text = read_skill(raw)
    json.dumps(_understood(raw))
    assert text.usable or text.problems
    assert not text.source.startswith("\ufeff")
    assert read_skill(text.source.encode()).body == text.body or not text.usable
    # and no word of the instructions is lost
    assert text.source.rstrip("\n").endswith(text.body.rstrip("\n"))


@fed_with("skills", _BITS)
def test_an_upload_of_it_becomes_a_skill_or_is_refused_and_leaves_nothing(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        folders = SkillFolders(Path(place))
        try:
            skill = add_upload(folders, raw)
        except (InvalidError, TooLargeError):
            assert list(Path(place).iterdir()) == []
            return
        assert [one.id for one in folders.all()] == [skill.id]
        assert skill.text.usable
