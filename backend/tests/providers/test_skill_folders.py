"""Skill folders on disk: found, read again when they change, saved without touching what did not change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flyback.domain.errors import InvalidError, NotFoundError, SkillNotFoundError, TooLargeError
from flyback.providers.skill_folders import SkillFolders, folder_name
from flyback.providers.skills import usable_skill

GOOD = "---\nname: good\ndescription: Does good.\n---\nDo good.\n"
_BOM = b"\xef\xbb\xbf"
_FILES: dict[str, tuple[str, bytes]] = {
    "crlf": ("SKILL.md", b"---\r\nname: crlf\r\ndescription: d\r\n---\r\nL1\r\nL2\r\n"),
    "bom": ("SKILL.md", _BOM + b"---\nname: bom\ndescription: d\n---\nB\n"),
    "bomcrlf": ("SKILL.md", _BOM + b"---\r\nname: bomcrlf\r\ndescription: |\r\n  a\r\n  b\r\n---\r\nB\r\n"),
    "mixed": ("SKILL.md", b"---\r\nname: mixed\ndescription: d\r\n---\nB\r\n"),
    "nonl": ("SKILL.md", b"---\nname: nonl\ndescription: d\n---"),
    "trail": ("SKILL.md", b"--- \nname: trail\ndescription: d\n---  \nB\n"),
    "任务": ("SKILL.md", "---\nname: 任务收尾器\ndescription: 说明\n---\n正文\n".encode()),
    "gbk": ("SKILL.md", "---\nname: gbk\ndescription: 说明\n---\n正文\n".encode("gbk")),
    "lower": ("skill.md", b"---\nname: lower\ndescription: d\n---\nB\n"),
}


def put(root: Path, folder: str, content: bytes | str = GOOD, *, file: str = "SKILL.md") -> Path:
    path = root / folder
    path.mkdir(parents=True, exist_ok=True)
    raw = content.encode() if isinstance(content, str) else content
    (path / file).write_bytes(raw)
    return path


@pytest.fixture
def odd(tmp_path: Path) -> SkillFolders:
    for folder, (file, raw) in _FILES.items():
        put(tmp_path, folder, raw, file=file)
    return SkillFolders(tmp_path)


def test_every_odd_folder_is_listed_by_its_name(odd: SkillFolders) -> None:
    names = {skill.id: skill.name for skill in odd.all()}
    assert names == {**{folder: folder for folder in _FILES}, "任务": "任务收尾器"}
    assert odd.find("bomcrlf").text.description == "a\nb"
    assert "SKILL.md is not UTF-8" in odd.find("gbk").problems
    assert odd.find("任务").text.body == "正文"


def test_saving_what_was_read_leaves_the_bytes_as_they_are(odd: SkillFolders, tmp_path: Path) -> None:
    for folder, (file, raw) in _FILES.items():
        source = odd.find(folder).text.source
        odd.save(folder, source)
        odd.save(folder, source.replace("\n", "\r\n"))  # what a browser's form makes of it
        assert (tmp_path / folder / file).read_bytes() == raw


def test_saving_a_change_keeps_the_line_ends_and_the_file(odd: SkillFolders, tmp_path: Path) -> None:
    odd.save("crlf", odd.find("crlf").text.source + "L3\n")
    odd.save("lower", odd.find("lower").text.source + "C\n")
    assert (tmp_path / "crlf" / "SKILL.md").read_bytes().endswith(b"L2\r\nL3\r\n")
    assert [path.name for path in (tmp_path / "lower").iterdir()] == ["skill.md"]
    assert odd.find("lower").text.body == "B\nC"


def test_a_file_that_is_not_utf_8_is_not_overwritten(odd: SkillFolders, tmp_path: Path) -> None:
    with pytest.raises(InvalidError, match="not UTF-8"):
        odd.save("gbk", GOOD)
    assert (tmp_path / "gbk" / "SKILL.md").read_bytes() == _FILES["gbk"][1]


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    folders = SkillFolders(tmp_path)
    path = put(tmp_path, "good")
    assert folders.find("good").text.body == "Do good."
    (path / "SKILL.md").write_text(GOOD + "And more.")
    assert folders.find("good").text.body == "Do good.\nAnd more."
    assert folders.find("good") is folders.find("good")


def test_the_open_formats_own_judgement_stands_beside_the_skill(tmp_path: Path) -> None:
    put(tmp_path, "good")
    put(tmp_path, "bad", "---\nname: Bad Name\ndescription: [a]\nfoo: 1\n---\nB")
    folders = SkillFolders(tmp_path)
    assert list(folders.find("good").problems) == []
    said = " ".join(folders.find("bad").problems)
    assert "lowercase" in said
    assert "Unexpected fields" in said
    assert "description" in said


def test_links_and_hidden_folders_are_no_skills(tmp_path: Path) -> None:
    outside = put(tmp_path / "elsewhere", "x")
    root = tmp_path / "skills"
    put(root, ".hidden")
    put(root, "good")
    (root / "linked").symlink_to(outside)
    (root / "inner").mkdir()
    (root / "inner" / "SKILL.md").symlink_to(outside / "SKILL.md")
    (root / "good" / "secret.txt").symlink_to("/etc/hostname")
    (root / "good" / "references").mkdir()
    (root / "good" / "references" / "a.md").write_text("a")
    folders = SkillFolders(root)
    assert [skill.id for skill in folders.all()] == ["good"]
    assert folders.files(folders.find("good")) == ["SKILL.md", "references/a.md"]


@pytest.mark.parametrize(
    "skill_id", ["../good", "/etc", "good/../good", "", ".", "..", "good/SKILL.md", "x\x00", "\ud800"]
)
def test_an_id_is_looked_up_and_never_a_path(tmp_path: Path, skill_id: str) -> None:
    put(tmp_path, "good")
    with pytest.raises(NotFoundError):
        SkillFolders(tmp_path).find(skill_id)


def test_a_name_on_a_disk_that_takes_letters_apart_is_found(tmp_path: Path) -> None:
    put(tmp_path, "cafe\u0301")
    assert SkillFolders(tmp_path).find("caf\u00e9").name == "good"


def test_a_persons_folder_hides_the_built_in_one_and_only_that_can_be_changed(tmp_path: Path) -> None:
    put(tmp_path / "shipped", "good")
    put(tmp_path / "shipped", "other")
    folders = SkillFolders(tmp_path / "own", built_in=[tmp_path / "shipped"])
    assert [skill.built_in for skill in folders.all()] == [True, True]
    for change in (lambda: folders.save("other", GOOD + "x"), lambda: folders.delete("other")):
        with pytest.raises(InvalidError, match="came with the product"):
            change()
    put(tmp_path / "own", "good", GOOD + "mine")
    assert folders.find("good").text.body == "Do good.\nmine"
    assert len(folders.all()) == 2


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("good", "good"),
        ("Good Skill_2", "good-skill-2"),
        ("任务收尾器", "skill-"),
        ("../../outside", "skill-"),
        ("a" * 65, "skill-"),
        ("-", "skill-"),
        ("", "skill-"),
    ],
)
def test_a_folder_is_made_from_the_name_or_from_its_hash(name: str, folder: str) -> None:
    made = folder_name(name)
    assert made == folder or (folder == "skill-" and len(made) == 18 and made.startswith(folder))


def test_a_skill_is_made_and_never_takes_the_place_of_another(tmp_path: Path) -> None:
    folders = SkillFolders(tmp_path / "skills")
    assert folders.create(GOOD).id == "good"
    with pytest.raises(InvalidError, match="exists already"):
        folders.create(GOOD.replace("Do", "Undo"))
    assert folders.find("good").text.body == "Do good."
    assert sorted(path.name for path in (tmp_path / "skills").iterdir()) == ["good"]


def test_a_source_without_a_name_or_too_large_is_refused(tmp_path: Path) -> None:
    folders = SkillFolders(tmp_path)
    with pytest.raises(InvalidError, match="names no skill"):
        folders.create("just text")
    with pytest.raises(TooLargeError):
        folders.create(GOOD + "x" * 1_048_577)
    assert list(tmp_path.iterdir()) == []


def test_a_deleted_skill_is_gone_with_its_files(tmp_path: Path) -> None:
    folders = SkillFolders(tmp_path)
    folders.create(GOOD)
    folders.delete("good")
    assert folders.all() == []
    assert list(tmp_path.iterdir()) == []


def test_what_a_death_left_behind_is_cleared_up_and_shown_to_nobody(tmp_path: Path) -> None:
    folders = SkillFolders(tmp_path)
    left, going_on = folders.working_folder(), folders.working_folder()
    put(left, "half")
    put(tmp_path, "good")
    os.utime(left, (0, 0))
    assert [skill.id for skill in folders.all()] == ["good"]
    folders.clear_up()
    assert sorted(os.listdir(tmp_path)) == [going_on.name, "good"]


def test_the_engine_gets_a_skill_or_hears_why_not(odd: SkillFolders) -> None:
    skill = usable_skill(odd, odd.find("bomcrlf"))
    assert (skill.skill_id, skill.description, skill.body) == ("bomcrlf", "a\nb", "B")
    with pytest.raises(SkillNotFoundError, match="not UTF-8"):
        usable_skill(odd, odd.find("gbk"))
