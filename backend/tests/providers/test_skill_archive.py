"""Uploaded archives: a good one becomes a folder, a hostile one leaves nothing anywhere."""

from __future__ import annotations

import io
import stat
import struct
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flyback.domain.errors import FlybackError, InvalidError, TooLargeError
from flyback.providers.skill_archive import ArchiveLimits, add_upload
from flyback.providers.skill_folders import SkillFolders

SKILL = b"---\nname: good\ndescription: d\n---\nB\n"
SMALL = ArchiveLimits(upload_bytes=1_000_000, unpacked_bytes=100_000, files=20)


def zipped(*entries: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # of a name that is there twice
        for entry, content in entries:
            archive.writestr(entry, content)
    return buffer.getvalue()


def special(name: str, kind: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (kind | 0o777) << 16
    return info


def flagged(content: bytes, flag: int) -> bytes:
    """Set a flag in the archive's directory."""
    at = content.rindex(b"PK\x01\x02") + 8
    return content[:at] + struct.pack("<H", flag) + content[at + 2 :]


def everything_in(path: Path) -> list[str]:
    return sorted(str(found.relative_to(path)) for found in path.rglob("*"))


def test_a_good_archive_becomes_a_folder_with_its_files(tmp_path: Path) -> None:
    folders = SkillFolders(tmp_path / "skills")
    content = zipped(("SKILL.md", SKILL), ("references/a.md", b"a"), ("scripts/run.py", b"print()"))
    skill = add_upload(folders, content)
    assert (skill.id, folders.files(skill)) == ("good", ["SKILL.md", "references/a.md", "scripts/run.py"])
    assert everything_in(tmp_path / "skills")[0] == "good"


def test_a_folder_inside_of_the_archive_and_a_file_managers_litter_are_taken_away(tmp_path: Path) -> None:
    folders = SkillFolders(tmp_path)
    entries = [("my-skill/", b""), ("my-skill/SKILL.md", b"no front matter"), ("my-skill/a/b.md", b"b")]
    skill = add_upload(folders, zipped(*entries, ("__MACOSX/._x", b"1"), ("my-skill/.DS_Store", b"2")))
    assert (skill.id, folders.files(skill)) == ("my-skill", ["SKILL.md", "a/b.md"])


@pytest.mark.parametrize("encoding", ["utf-8", "gbk"])
def test_names_are_read_as_file_managers_write_them(tmp_path: Path, encoding: str) -> None:
    folders = SkillFolders(tmp_path)
    name = "参考/淺.md"  # of which GBK ends a sign with the byte of a backslash
    written = name.encode(encoding)
    plain = zipped(("SKILL.md", SKILL), ("x" * len(written), b"words"))
    skill = add_upload(folders, plain.replace(b"x" * len(written), written))
    assert folders.files(skill) == ["SKILL.md", name]
    assert folders.read_file(skill, name) == "words"


def test_a_name_that_climbs_in_another_encoding_is_refused(tmp_path: Path) -> None:
    written = "../../坏.txt".encode("gbk")
    plain = zipped(("SKILL.md", SKILL), ("x" * len(written), b"words"))
    with pytest.raises(InvalidError, match="坏"):
        add_upload(SkillFolders(tmp_path / "skills"), plain.replace(b"x" * len(written), written))
    assert everything_in(tmp_path) == []


def test_a_single_file_becomes_a_folder(tmp_path: Path) -> None:
    assert add_upload(SkillFolders(tmp_path), b"\xef\xbb\xbf" + SKILL.replace(b"\n", b"\r\n")).text.body == "B"


def test_a_name_that_climbs_gets_a_safe_folder_and_is_shown_as_given(tmp_path: Path) -> None:
    root = tmp_path / "a" / "b" / "skills"
    skill = add_upload(SkillFolders(root), b"---\nname: ../../outside\ndescription: d\n---\nbody\n")
    assert skill.name == "../../outside"
    assert skill.path.parent == root
    assert skill.id.startswith("skill-")
    assert len(everything_in(tmp_path)) == 5  # a, b, skills, the folder, its SKILL.md


def test_the_only_skill_of_a_repository_is_found_where_it_lies(tmp_path: Path) -> None:
    folders = SkillFolders(tmp_path)
    content = zipped(("repo/skills/good/SKILL.md", SKILL), ("repo/skills/good/templates/x/SKILL.md", b"a template"))
    skill = add_upload(folders, content)
    assert (skill.id, folders.files(skill)) == ("good", ["SKILL.md", "templates/x/SKILL.md"])


@pytest.mark.parametrize("begin", [b"\x1f\x8b\x08", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07\x01", b"%PDF-1.7"])
def test_what_is_no_zip_and_no_text_is_named(tmp_path: Path, begin: bytes) -> None:
    with pytest.raises(InvalidError, match="which is not read here") as caught:
        add_upload(SkillFolders(tmp_path), begin + bytes(50))
    assert "zip" in (caught.value.fix or "")


_HOSTILE: list[tuple[str, bytes]] = [
    ("climbs", zipped(("SKILL.md", SKILL), ("../../evil.txt", b"x"))),
    ("climbs inside", zipped(("SKILL.md", SKILL), ("a/../../evil.txt", b"x"))),
    ("backslash", zipped(("SKILL.md", SKILL), ("..\\..\\evil.txt", b"x"))),
    ("absolute", zipped(("SKILL.md", SKILL), ("/tmp/evil.txt", b"x"))),
    ("drive", zipped(("SKILL.md", SKILL), ("C:\\evil.txt", b"x"))),
    ("drive without backslash", zipped(("SKILL.md", SKILL), ("C:evil.txt", b"x"))),
    ("stream", zipped(("SKILL.md", SKILL), ("a.txt:evil", b"x"))),
    ("symlink", zipped(("SKILL.md", SKILL), (special("references/x.md", stat.S_IFLNK), b"/etc/hostname"))),
    ("symlink as SKILL.md", zipped((special("SKILL.md", stat.S_IFLNK), b"/etc/hostname"))),
    ("device", zipped(("SKILL.md", SKILL), (special("null", stat.S_IFCHR), b""))),
    ("fifo", zipped(("SKILL.md", SKILL), (special("pipe", stat.S_IFIFO), b""))),
    ("twice", zipped(("SKILL.md", SKILL), ("a.md", b"1"), ("a.md", b"2"))),
    ("case twin", zipped(("SKILL.md", SKILL), ("a.md", b"1"), ("A.md", b"2"))),
    ("two skill files", zipped(("SKILL.md", SKILL), ("skill.md", SKILL))),
    ("file and folder", zipped(("SKILL.md", SKILL), ("a", b"1"), ("a/b", b"2"))),
    ("dot", zipped(("SKILL.md", SKILL), ("./a.md", b"1"))),
    ("nothing between slashes", zipped(("SKILL.md", SKILL), ("a//b.md", b"1"))),
    ("blank at the end", zipped(("SKILL.md", SKILL), ("a .md /b", b"1"))),
    ("control characters", zipped(("SKILL.md", SKILL), ("a\nb.md", b"1"))),
    ("encrypted", flagged(zipped(("SKILL.md", SKILL), ("a.md", b"1")), 0x1)),
    ("several skills", zipped(("a/SKILL.md", SKILL), ("b/SKILL.md", SKILL))),
    ("beside the folder", zipped(("a/SKILL.md", SKILL), ("b.md", b"1"))),
    ("no SKILL.md", zipped(("README.md", b"1"))),
    ("empty", zipped()),
    ("not UTF-8", zipped(("SKILL.md", b"---\nname: \xff\n---\n"))),
    ("duplicate keys", zipped(("SKILL.md", b"---\nname: a\nname: b\n---\n"))),
    ("cut", zipped(("SKILL.md", SKILL), ("a.md", b"x" * 1000))[:-30]),
]


@pytest.mark.parametrize("content", [content for _, content in _HOSTILE], ids=[name for name, _ in _HOSTILE])
def test_a_hostile_archive_is_refused_whole(tmp_path: Path, content: bytes) -> None:
    root = tmp_path / "deep" / "skills"
    folders = SkillFolders(root)
    root.mkdir(parents=True)
    with pytest.raises(InvalidError) as caught:
        add_upload(folders, content)
    assert caught.value.fix
    assert everything_in(tmp_path) == ["deep", "deep/skills"]


def test_a_bomb_is_refused_by_what_it_says_of_itself(tmp_path: Path) -> None:
    with pytest.raises(TooLargeError, match="unpacks to more"):
        add_upload(SkillFolders(tmp_path), zipped(("SKILL.md", SKILL), ("big.txt", bytes(200_000))), limits=SMALL)
    assert everything_in(tmp_path) == []


def test_a_bomb_that_lies_about_its_size_is_caught_while_it_is_unpacked(tmp_path: Path) -> None:
    # given an archive whose headers say that a file of 200,000 bytes has 10
    honest = zipped(("SKILL.md", SKILL), ("big.txt", bytes(200_000)))
    lying = honest.replace(struct.pack("<L", 200_000), struct.pack("<L", 10))
    # when it is uploaded, then nothing of it stays
    with pytest.raises(FlybackError):
        add_upload(SkillFolders(tmp_path), lying, limits=SMALL)
    assert everything_in(tmp_path) == []


def test_too_many_files_and_too_large_an_upload_are_refused(tmp_path: Path) -> None:
    many = zipped(("SKILL.md", SKILL), *((f"{n}.md", b"") for n in range(20)))
    with pytest.raises(TooLargeError, match="more than 20 entries"):
        add_upload(SkillFolders(tmp_path), many, limits=SMALL)
    with pytest.raises(TooLargeError, match="larger than"):
        add_upload(SkillFolders(tmp_path), bytes(1_000_001), limits=SMALL)
    assert everything_in(tmp_path) == []


def test_a_skill_that_is_there_already_is_not_overwritten(tmp_path: Path) -> None:
    folders = SkillFolders(tmp_path)
    add_upload(folders, zipped(("SKILL.md", SKILL)))
    with pytest.raises(InvalidError, match="exists already"):
        add_upload(folders, zipped(("SKILL.md", SKILL.replace(b"B", b"C")), ("new.md", b"1")))
    assert everything_in(tmp_path) == ["good", "good/SKILL.md"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_damage_to_an_archive_leaves_anything_half_done(tmp_path: Path, data: st.DataObject) -> None:
    whole = zipped(("SKILL.md", SKILL), ("a/b.md", b"hello" * 50))
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:at] + data.draw(st.binary(max_size=6)) + whole[at + data.draw(st.integers(0, 6)) :]
    folders = SkillFolders(tmp_path)
    try:
        skill = add_upload(folders, damaged, limits=SMALL)
    except FlybackError:
        assert everything_in(tmp_path) == []
    else:
        folders.delete(skill.id)
        assert everything_in(tmp_path) == []
