"""Uploaded skills: a zip or a single SKILL.md, checked whole before anything becomes visible.

An archive is somebody else's. What climbs, is absolute, links, hides a second file under the same name, or unpacks to
more than is allowed is refused with its name; sizes are counted while unpacking, since a header may lie.
"""

from __future__ import annotations

import io
import re
import shutil
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from flyback.domain.errors import InvalidError, TooLargeError
from flyback.providers.skill_folders import MAX_FILES, MAX_SKILL_BYTES, SkillFolder, SkillFolders, named, readable

MAX_UPLOAD_BYTES = 50 * 1024 * 1024
MAX_UNPACKED_BYTES = 200 * 1024 * 1024
_CHUNK = 64 * 1024
_DRIVE = re.compile(r"[A-Za-z]:")
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_NAMES_ARE_UTF_8 = 0x800
_LITTER = ("__MACOSX", ".DS_Store")
"""What a file manager adds by itself."""
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, ValueError)
"""What the library raises for an archive that is none, or is no longer whole."""
_FIX = "Pack the skill's folder again: plain files, with SKILL.md at the top."
_FIX_KIND = "Send the skill's folder as a zip, or its SKILL.md alone."
_OTHER_KINDS = (
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"%PDF-", "a PDF"),
)
"""What is sent by mistake, and how it begins."""


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    upload_bytes: int = MAX_UPLOAD_BYTES
    unpacked_bytes: int = MAX_UNPACKED_BYTES
    files: int = MAX_FILES


@dataclass(frozen=True, slots=True)
class _File:
    info: zipfile.ZipInfo
    path: PurePosixPath
    """Inside the skill's folder."""


def add_upload(
    folders: SkillFolders, content: bytes, *, into: str | None = None, limits: ArchiveLimits | None = None
) -> SkillFolder:
    """Make a skill of an upload, or put it in the place of what the skill `into` holds.

    Raises:
        InvalidError: with the entry that is at fault; nothing was written.
        TooLargeError: it is, or unpacks to, more than is allowed.
        NotFoundError: there is no skill `into`.
    """
    limits = limits or ArchiveLimits()
    if len(content) > limits.upload_bytes:
        raise _too_large(f"The upload is larger than {_mib(limits.upload_bytes)}.")
    for begin, kind in _OTHER_KINDS:
        if content.startswith(begin):
            raise InvalidError(f"The upload is {kind}, which is not read here.", field="file", fix=_FIX_KIND)
    if not content.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        source = readable(content).source
        return folders.create(source) if into is None else folders.save(into, source)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _unpack(folders, archive, into, limits)
    except _BROKEN as error:
        raise InvalidError(f"The archive cannot be read: {error}.", field="file", fix=_FIX) from error


def _unpack(folders: SkillFolders, archive: zipfile.ZipFile, into: str | None, limits: ArchiveLimits) -> SkillFolder:
    files, folder = _checked(archive.infolist(), limits)
    skill_file = next(file for file in files if str(file.path).lower() == "skill.md")
    name = named(readable(_read(archive, skill_file.info, MAX_SKILL_BYTES + 1)), otherwise=folder)
    target = folders.working_folder()
    try:
        left = limits.unpacked_bytes
        for file in files:
            left -= _write(archive, file, target, left, limits)
        return folders.place(target, name=name) if into is None else folders.replace_files(into, target)
    finally:
        shutil.rmtree(target, ignore_errors=True)


def _checked(infos: Sequence[zipfile.ZipInfo], limits: ArchiveLimits) -> tuple[list[_File], str]:
    """Return the files to unpack, by their paths in the skill's folder, and the name that this folder has, if any."""
    if len(infos) > limits.files:
        raise _too_large(f"The archive has more than {limits.files:,} entries.")
    if sum(info.file_size for info in infos) > limits.unpacked_bytes:
        raise _too_large(f"The archive unpacks to more than {_mib(limits.unpacked_bytes)}.")
    paths: dict[str, PurePosixPath] = {}
    kept: list[tuple[zipfile.ZipInfo, PurePosixPath]] = []
    for info in infos:
        path = _safe_path(info)
        twin = _twin_key(path)
        if twin in paths:
            raise _refused(info, f"has the same name as {str(paths[twin])!r}")
        paths[twin] = path
        if not info.is_dir() and not _is_litter(path):
            kept.append((info, path))
    files = {_twin_key(path) for _, path in kept}
    for info, path in kept:
        if any(_twin_key(parent) in files for parent in path.parents):
            raise _refused(info, "lies inside of another file")
    return _inside_skill_folder(kept)


def _inside_skill_folder(kept: Sequence[tuple[zipfile.ZipInfo, PurePosixPath]]) -> tuple[list[_File], str]:
    """Take away the folders that everything lies in, down to the one with the highest SKILL.md."""
    skills = [path for _, path in kept if path.name.lower() == "skill.md"]
    if not skills:
        raise InvalidError("The archive has no SKILL.md.", field="file", fix=_FIX)
    depth = min(len(path.parts) for path in skills)
    top = [path for path in skills if len(path.parts) == depth]
    if len(top) > 1:
        raise InvalidError("The archive holds several skills.", field="file", fix="Upload them one by one.")
    folder = top[0].parent
    outside = next((info for info, path in kept if not path.is_relative_to(folder)), None)
    if outside is not None:
        raise _refused(outside, "lies beside the skill's folder")
    return [_File(info, path.relative_to(folder)) for info, path in kept], folder.name


def _safe_path(info: zipfile.ZipInfo) -> PurePosixPath:
    name = _name_of(info)
    if info.flag_bits & _ENCRYPTED:
        raise _refused(info, "is encrypted")
    if "\\" in name or name.startswith("/") or _DRIVE.match(name) or ":" in name:
        raise _refused(info, "has a path of another system, or an absolute one")
    parts = name.removesuffix("/").split("/")
    if any(part in ("", ".", "..") or part != part.strip() or part.endswith(".") for part in parts):
        raise _refused(info, "has a path that does not stay in its folder")
    if not name.isprintable() or len(name) > 500 or any(len(part.encode()) > 255 for part in parts) or len(parts) > 20:
        raise _refused(info, "has a name that cannot be used")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise _refused(info, "is a link or a device")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _refused(info, "is packed in a way that is not read here")
    return PurePosixPath(*parts)


def _name_of(info: zipfile.ZipInfo) -> str:
    """The name of an entry. Finder writes UTF-8 and Windows in Chinese writes GBK without saying so; the library then
    reads each byte as a sign of its own."""
    name = info.orig_filename
    if info.flag_bits & _NAMES_ARE_UTF_8 or name.isascii():
        return name
    raw = name.encode("cp437")
    for encoding in ("utf-8", "gbk"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return name


def _twin_key(path: PurePosixPath) -> str:
    """The same for names that one disk or another takes for the same."""
    return unicodedata.normalize("NFKC", str(path)).casefold()


def _is_litter(path: PurePosixPath) -> bool:
    return path.parts[0] in _LITTER or path.name in _LITTER


def _write(archive: zipfile.ZipFile, file: _File, target: Path, left: int, limits: ArchiveLimits) -> int:
    """Unpack one file. Returns its size."""
    path = target.joinpath(*file.path.parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    size = 0
    with archive.open(file.info) as source, path.open("xb") as output:
        while chunk := source.read(_CHUNK):
            size += len(chunk)
            if size > left:
                raise _too_large(f"The archive unpacks to more than {_mib(limits.unpacked_bytes)}.")
            output.write(chunk)
    return size


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    with archive.open(info) as source:
        return source.read(most)


def _refused(info: zipfile.ZipInfo, why: str) -> InvalidError:
    return InvalidError(f"The archive is refused: {_name_of(info)[:200]!r} {why}.", field="file", fix=_FIX)


def _too_large(message: str) -> TooLargeError:
    return TooLargeError(message, field="file", fix="Leave out what the skill does not need.")


def _mib(size: int) -> str:
    return f"{size / 1024 / 1024:g} MiB"
