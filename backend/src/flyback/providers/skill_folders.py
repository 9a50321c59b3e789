"""The skill folders on disk: found, read again when they change, and written.

A folder's own name is its identity. An id is only looked up among the folders that are there and never joined to a path.
Links are not followed. Every call here blocks; `skills.py` calls it from threads.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import logging
import os
import re
import shutil
import tempfile
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, cast

from flyback.domain.errors import InvalidError, NotFoundError, RevisionConflictError, TooLargeError
from flyback.domain.wire import time_on_wire
from flyback.engine.ports import SkillField
from flyback.providers.plain_yaml import Plain
from flyback.providers.skill_text import NOT_UTF_8, SkillText, fields_of, plain_source, read_skill, tools_of

MAX_FILES = 2_000
MAX_READ_BYTES = 256 * 1024
"""Of a file that an agent reads."""
MAX_SKILL_BYTES = 1024 * 1024
"""Of a SKILL.md."""
_FOLDER = re.compile(r"(?=.*[a-z0-9])[a-z0-9-]{1,64}")
_WORKING = ".upload-"
_OLD_SECONDS = 3600
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A skill as it lies on disk."""

    id: str
    """The folder's own name."""
    path: Path
    file: str
    """The name of its SKILL.md, as it is written there."""
    text: SkillText
    inputs: Sequence[SkillField]
    outputs: Sequence[SkillField]
    allowed_tools: Sequence[str] | None
    problems: Sequence[str]
    """What was guessed, and what the open format asks otherwise."""
    built_in: bool
    updated_at: datetime
    stamp: tuple[int, int, int]

    @property
    def name(self) -> str:
        return self.text.name or self.id

    @property
    def revision(self) -> str:
        """The hash of its SKILL.md, as it is read and edited."""
        return hashlib.sha256(self.text.source.encode()).hexdigest()


class SkillFolders:
    """The folder that people add to, and behind it those that came with the product."""

    def __init__(self, own: Path, *, built_in: Sequence[Path] = ()) -> None:
        self._own = own
        self._places = ((own, False), *((place, True) for place in built_in))
        self._read: dict[Path, SkillFolder] = {}

    def all(self) -> Sequence[SkillFolder]:
        """Return every skill, by name. A person's own folder hides a built-in one of the same name."""
        found: dict[str, SkillFolder] = {}
        for place, built_in in self._places:
            for folder in _folders_in(place):
                if folder.name not in found and (skill := self._current(folder, built_in)) is not None:
                    found[folder.name] = skill
        paths = {skill.path for skill in found.values()}
        self._read = {path: skill for path, skill in self._read.items() if path in paths}
        return sorted(found.values(), key=lambda skill: (skill.name.casefold(), skill.id))

    def find(self, skill_id: str) -> SkillFolder:
        """Return the skill whose folder has this name. Raises NotFoundError."""
        wanted = unicodedata.normalize("NFC", skill_id)
        for place, built_in in self._places:
            for folder in _folders_in(place):
                if unicodedata.normalize("NFC", folder.name) == wanted:
                    skill = self._current(folder, built_in)
                    if skill is not None:
                        return skill
        raise NotFoundError(f"There is no skill {skill_id[:200]!r}.", fix="See the list of skills.")

    def files(self, skill: SkillFolder) -> list[str]:
        """Return the skill's files, by their paths inside the folder. Links are left out."""
        return sorted(files_in(skill.path))

    def read_file(self, skill: SkillFolder, path: str) -> str:
        """Return the text of one of the skill's files. The path is looked up in the list and never joined unseen.

        Raises:
            NotFoundError: the skill has no such file.
            InvalidError: it is no text, or too large.
        """
        if path not in files_in(skill.path):
            raise NotFoundError(f"The skill {skill.id!r} has no file {path[:200]!r}.", fix="See the list of its files.")
        try:
            handle = os.open(skill.path / path, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError as error:
            raise NotFoundError(f"The file {path[:200]!r} cannot be read: {error.strerror}.") from error
        with os.fdopen(handle, "rb") as file:
            raw = file.read(MAX_READ_BYTES + 1)
        if len(raw) > MAX_READ_BYTES:
            raise InvalidError(f"The file {path[:200]!r} is larger than {MAX_READ_BYTES // 1024} KiB.")
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidError(f"The file {path[:200]!r} is no text.") from error

    def create(self, source: str) -> SkillFolder:
        """Make a folder with this SKILL.md.

        Raises:
            InvalidError: it cannot be read, or a folder of its name is there.
        """
        text = readable(source.encode("utf-8", "surrogatepass"))
        return self.place({"SKILL.md": text.source.encode("utf-8")}, name=named(text))

    def place(self, files: Mapping[str, bytes] | Path, *, name: str) -> SkillFolder:
        """Make a folder of files, or of a folder that was prepared beside, in one move. Raises InvalidError."""
        folder = self._own / folder_name(name)
        if any(folder.name == skill.id for skill in self.all()):
            raise _taken(folder.name)
        prepared = files if isinstance(files, Path) else self._prepare(files)
        try:
            os.rename(prepared, folder)
        except OSError as error:
            shutil.rmtree(prepared, ignore_errors=True)
            if folder.exists():
                raise _taken(folder.name) from error
            raise
        return self.find(folder.name)

    def working_folder(self) -> Path:
        """Return an empty folder beside the others, which no list shows."""
        self._own.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=_WORKING, dir=self._own))

    def clear_up(self) -> None:
        """Remove what a death in the middle of an upload has left, an hour ago or more: a younger one may still go on."""
        if not self._own.is_dir():
            return
        for left in self._own.glob(f"{_WORKING}*"):
            if time.time() - left.stat().st_mtime > _OLD_SECONDS:
                shutil.rmtree(left, ignore_errors=True)

    def save(self, skill_id: str, source: str, *, revision: str | None = None) -> SkillFolder:
        """Put another SKILL.md in the place of a skill's. What did not change is not written: its bytes stay, and a
        save whose answer was lost can be repeated.

        Args:
            revision: of the SKILL.md that it was made from; None takes the place of whatever is there.

        Raises:
            RevisionConflictError: something else was saved since.
            NotFoundError, InvalidError.
        """
        skill = self.find(skill_id)
        if plain_source(source) == skill.text.source:
            return skill
        _check_own(skill)
        if revision not in (None, skill.revision):
            raise _conflict(skill)
        if not skill.text.usable and NOT_UTF_8 in skill.text.problems:
            fix = "Convert the file to UTF-8 on disk first, so that no letter is lost."
            raise InvalidError(f"SKILL.md of {skill_id!r} is not UTF-8.", field="source", fix=fix)
        text = readable(source.encode("utf-8", "surrogatepass"))
        path = skill.path / skill.file
        _replace(path, io.BytesIO(_with_line_ends_of(path.read_bytes(), text.source)))
        return self.find(skill.id)

    def replace_files(self, skill_id: str, source: Path) -> SkillFolder:
        """Put the files of another folder in the place of a skill's. What is hidden or a link is left as it is.

        Each file is written whole or not at all.

        Raises:
            NotFoundError, InvalidError: a link stands where a folder has to be.
        """
        skill = self.find(skill_id)
        _check_own(skill)
        wanted = files_in(source)
        _check_no_links(skill.path, wanted)
        for file in files_in(skill.path):
            if file not in wanted:
                _remove(skill.path, file)
        for file in wanted:
            target = skill.path / file
            target.parent.mkdir(parents=True, exist_ok=True)
            with (source / file).open("rb") as content:
                _replace(target, content)
        return self.find(skill.id)

    def delete(self, skill_id: str) -> None:
        """Remove a skill's folder with everything in it. Raises NotFoundError, InvalidError."""
        skill = self.find(skill_id)
        _check_own(skill)
        gone = self.working_folder()
        os.rename(skill.path, gone / "skill")
        shutil.rmtree(gone, ignore_errors=True)

    def _prepare(self, files: Mapping[str, bytes]) -> Path:
        prepared = self.working_folder()
        for name, content in files.items():
            _replace(prepared / name, io.BytesIO(content))
        return prepared

    def _current(self, folder: os.DirEntry[str], built_in: bool) -> SkillFolder | None:
        """Return what is in a folder, read again when its SKILL.md changed; None where it has none."""
        path = Path(folder.path)
        skill = read_folder(path, built_in, known=self._read.get(path))
        if skill is not None:
            self._read[path] = skill
        return skill


def folder_name(name: str) -> str:
    """Return the folder for a skill of this name: `[a-z0-9-]{1,64}`, else `skill-` and a hash of the name."""
    plain = re.sub(r"[\s_]+", "-", name.strip().lower())
    if _FOLDER.fullmatch(plain):
        return plain
    return "skill-" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def readable(raw: bytes) -> SkillText:
    """Read a SKILL.md that somebody wants to store.

    Raises:
        InvalidError: it cannot be used as it stands.
        TooLargeError: it is larger than a megabyte.
    """
    if len(raw) > MAX_SKILL_BYTES:
        fix = "Move what is not needed at every use into files of its own beside it."
        raise TooLargeError(f"SKILL.md is larger than {MAX_SKILL_BYTES // 1024} KiB.", field="source", fix=fix)
    text = read_skill(raw)
    if not text.usable:
        fix = "Save the file as UTF-8, with front matter of plain keys and values."
        raise InvalidError(f"SKILL.md cannot be used: {text.problems[-1]}.", field="source", fix=fix)
    return text


def named(text: SkillText, *, otherwise: str = "") -> str:
    """Return the name for a new skill. Raises InvalidError: there is none."""
    name = text.name or otherwise.strip()
    if not name:
        fix = "Begin it with front matter: ---, name: my-skill, description: what it does, ---."
        raise InvalidError("SKILL.md names no skill.", field="source", fix=fix)
    return name


def _folders_in(place: Path) -> Iterator[os.DirEntry[str]]:
    """The folders that may be skills: no links, nothing hidden, and a name that can be written."""
    try:
        with os.scandir(place) as entries:
            found = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return
    for entry in sorted(found, key=lambda entry: entry.name):
        if not entry.name.startswith(".") and entry.name.isprintable():
            yield entry


def read_folder(
    path: Path, built_in: bool, *, skill_id: str | None = None, known: SkillFolder | None = None
) -> SkillFolder | None:
    """Read the skill that a folder is, again where it is not `known` as it is now; None where it has no SKILL.md.

    `skill_id` is its id where that is not the folder's own name.
    """
    file = _skill_file(path)
    stamp = None if file is None else _stamp(file)
    if file is None or stamp is None:
        return None
    if known is not None and known.stamp == stamp and known.file == file.name:
        return known
    return _read_folder(skill_id or path.name, path, file, stamp, built_in)


def _skill_file(folder: Path) -> os.DirEntry[str] | None:
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if entry.name.lower() == "skill.md"]
            plain = [entry for entry in found if entry.is_file(follow_symlinks=False)]
    except FileNotFoundError:  # taken away at this moment
        return None
    except OSError as error:
        _log.warning("the skill folder %s cannot be read: %s", folder, error)
        return None
    return min(plain, key=lambda entry: (entry.name != "SKILL.md", entry.name), default=None)


def _stamp(file: os.DirEntry[str]) -> tuple[int, int, int] | None:
    try:
        status = file.stat(follow_symlinks=False)
    except FileNotFoundError:  # taken away at this moment
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def _read_folder(
    skill_id: str, path: Path, file: os.DirEntry[str], stamp: tuple[int, int, int], built_in: bool
) -> SkillFolder:
    text = _text_of(file, stamp[1])
    inputs, wrong_inputs = fields_of(text.front, "inputs")
    outputs, wrong_outputs = fields_of(text.front, "outputs")
    problems = [*text.problems, *wrong_inputs, *wrong_outputs, *_judged(text, skill_id)]
    return SkillFolder(
        id=skill_id,
        path=path,
        file=file.name,
        text=text,
        inputs=inputs,
        outputs=outputs,
        allowed_tools=tools_of(text.front),
        problems=problems,
        built_in=built_in,
        updated_at=datetime.fromtimestamp(stamp[0] / 1e9, UTC),
        stamp=stamp,
    )


def _text_of(file: os.DirEntry[str], size: int) -> SkillText:
    if size > MAX_SKILL_BYTES:
        return SkillText("", {}, "", (f"SKILL.md is larger than {MAX_SKILL_BYTES // 1024} KiB",), usable=False)
    try:
        return read_skill(Path(file.path).read_bytes())
    except OSError as error:
        return SkillText("", {}, "", (f"SKILL.md cannot be read: {error.strerror}",), usable=False)


def _judged(text: SkillText, skill_id: str) -> list[str]:
    """What the open format's own validator says."""
    if not text.front:
        return []
    validator = importlib.import_module("skills_ref.validator")  # loads a YAML library of its own, and has no types
    judge = cast("Callable[[dict[str, Plain], Path], list[str]]", validator.validate_metadata)
    return [message.rstrip(".") for message in judge(dict(text.front), Path(skill_id))]


def files_in(path: Path) -> list[str]:
    """Return the files of a folder by their paths in it: no links, nothing in hidden folders, no name that cannot be shown."""
    found: list[str] = []
    for folder, names, files in os.walk(path, followlinks=False):
        names[:] = [name for name in names if not name.startswith(".")]
        for name in files:
            file = Path(folder) / name
            inside = file.relative_to(path).as_posix()
            if not file.is_symlink() and file.is_file() and inside.isprintable():
                found.append(inside)
            if len(found) >= MAX_FILES:
                return found
    return found


def _check_own(skill: SkillFolder) -> None:
    if skill.built_in:
        message = f"The skill {skill.id!r} came with the product and stays as it is."
        raise InvalidError(message, fix="Make a skill of your own from its text.")


def _taken(folder: str) -> InvalidError:
    message = f"A skill folder {folder!r} exists already."
    return InvalidError(message, field="name", fix="Choose another name, or change the skill that is there.")


def _conflict(current: SkillFolder) -> RevisionConflictError:
    return RevisionConflictError(
        f"The SKILL.md of {current.id!r} was changed elsewhere.",
        current={
            "id": current.id,
            "source": current.text.source,
            "revision": current.revision,
            "updatedAt": time_on_wire(current.updated_at),
        },
        fix="Compare with the stored SKILL.md in `current`, then save again with its revision.",
    )


def _with_line_ends_of(before: bytes, source: str) -> bytes:
    """Return the text with the line ends that the file has had throughout."""
    carriage = before.count(b"\r\n")
    text = source.replace("\n", "\r\n") if carriage and carriage == before.count(b"\n") else source
    return text.encode("utf-8")


def _check_no_links(folder: Path, files: Sequence[str]) -> None:
    for file in files:
        for parent in list(PurePosixPath(file).parents)[:-1]:
            if (folder / parent).is_symlink():
                message = f"The skill's folder has a link {str(parent)!r} where a folder has to be."
                raise InvalidError(message, fix="Remove the link on disk first.")


def _remove(folder: Path, file: str) -> None:
    """Remove a file, and the folders that it leaves empty."""
    path = folder / file
    path.unlink(missing_ok=True)
    for parent in path.relative_to(folder).parents:
        try:
            if parent.parts:
                (folder / parent).rmdir()
        except OSError:
            return


def _replace(path: Path, content: IO[bytes]) -> None:
    """Write a file whole or not at all."""
    handle, name = tempfile.mkstemp(prefix=".", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            shutil.copyfileobj(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
