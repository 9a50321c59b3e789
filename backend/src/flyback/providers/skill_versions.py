"""Every content that a skill folder was used with, kept as a folder of its own that never changes.

A version is named by the hash of its files, so that the same content is kept once and cannot be anything else. It is
copied to disk whole before anything names it. Every call here blocks; `services/skills.py` calls it from threads.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from flyback.domain.errors import InvalidError, NotFoundError
from flyback.providers.skill_folders import SkillFolder, files_in, read_folder

MAX_KEPT_BYTES = 200 * 1024 * 1024
_CHUNK = 1024 * 1024
_WORKING = ".new-"
_YOUNG_SECONDS = 3600
_Stamp = Sequence[tuple[str, int, int, int]]


class SkillVersions:
    def __init__(self, place: Path, *, most_bytes: int = MAX_KEPT_BYTES) -> None:
        self._place = place
        self._most_bytes = most_bytes
        self._kept: dict[Path, tuple[_Stamp, str]] = {}
        """Skill folder to how its files looked when it was last kept, and the version that they were."""

    def keep(self, skill: SkillFolder) -> str:
        """Keep what a skill folder holds now. Returns the version's hash.

        Raises:
            InvalidError: it holds more than is kept.
        """
        files = sorted(files_in(skill.path))
        stamp = [_stamp(skill.path, file) for file in files]
        known = self._kept.get(skill.path)
        if known is not None and known[0] == stamp and self._folder(known[1]).is_dir():
            return known[1]
        if sum(size for _, size, _, _ in stamp) > self._most_bytes:
            message = f"The skill {skill.id!r} is larger than {self._most_bytes // 1024 // 1024} MiB."
            raise InvalidError(message, fix="Move what it does not need out of its folder.")
        version = self._copied(skill.path, files)
        self._kept[skill.path] = (stamp, version)
        return version

    def open(self, skill_id: str, version: str, *, built_in: bool = False) -> SkillFolder:
        """Return a version as the skill that it was. Raises NotFoundError: it is not on this machine."""
        found = read_folder(self._folder(version), built_in, skill_id=skill_id) if _is_hash(version) else None
        if found is None:
            message = f"There is no version {version[:80]!r} of the skill {skill_id[:200]!r}."
            raise NotFoundError(message, fix="See the list of its versions.")
        return found

    def forget_all_but(self, used: Collection[str]) -> None:
        """Remove what nobody names any more. What is young stays: it may be named in a moment."""
        if not self._place.is_dir():
            return
        for folder in self._place.iterdir():
            if folder.name not in used and time.time() - folder.stat().st_mtime > _YOUNG_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)

    def _folder(self, version: str) -> Path:
        return self._place / version

    def _copied(self, source: Path, files: Sequence[str]) -> str:
        self._place.mkdir(parents=True, exist_ok=True)
        working = Path(tempfile.mkdtemp(prefix=_WORKING, dir=self._place))
        try:
            content = hashlib.sha256()
            for file in files:
                content.update(f"{len(file.encode())}:{file}\n".encode() + _copy(source / file, working / file))
            version = content.hexdigest()
            if not self._folder(version).is_dir():
                _put_in_place(working, self._folder(version))
            return version
        finally:
            shutil.rmtree(working, ignore_errors=True)


def _stamp(folder: Path, file: str) -> tuple[str, int, int, int]:
    try:
        status = (folder / file).lstat()
    except FileNotFoundError:  # taken away at this moment
        return (file, 0, 0, 0)
    return (file, status.st_size, status.st_mtime_ns, status.st_ino)


def _copy(source: Path, target: Path) -> bytes:
    """Copy one file to disk. Returns the hash of what was copied."""
    target.parent.mkdir(parents=True, exist_ok=True)
    content = hashlib.sha256()
    with target.open("xb") as output:
        for chunk in _chunks(source):
            content.update(chunk)
            output.write(chunk)
        output.flush()
        os.fsync(output.fileno())
    target.chmod(0o444)
    return content.digest()


def _chunks(source: Path) -> Iterator[bytes]:
    with os.fdopen(os.open(source, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _put_in_place(working: Path, folder: Path) -> None:
    try:
        os.rename(working, folder)
    except OSError:
        if not folder.is_dir():  # somebody else kept the same at this moment
            raise
    handle = os.open(folder.parent, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_hash(text: str) -> bool:
    return len(text) == 64 and all(letter in "0123456789abcdef" for letter in text)
