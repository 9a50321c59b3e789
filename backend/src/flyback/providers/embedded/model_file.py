"""The model file in its folder: whether it is there, and whether it is the one that was released.

A file is hashed once, when it arrives; a stamp beside it says so. A file that has no stamp, or that changed since, is hashed
before it is used. What does not match is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from flyback.domain.errors import ModelUnavailableError
from flyback.providers.embedded.releases import Release

_MAGIC = b"GGUF"
_CHUNK_BYTES = 4 * 1024 * 1024


def path_of(release: Release, folder: Path) -> Path:
    return folder / release.file


def is_here(release: Release, folder: Path) -> bool:
    """Whether the file is there in its full size. Its hash is checked before it is used."""
    path = path_of(release, folder)
    return path.is_file() and path.stat().st_size == release.size_bytes


def checked_file(wanted: Release | Path, folder: Path) -> Path:
    """Return the file of a release, or one that a person named, ready to be used. Hashing it may take seconds.

    Raises:
        ModelUnavailableError: it is not there, or is not what it should be.
    """
    if isinstance(wanted, Path):
        return _checked_magic(wanted)
    path = path_of(wanted, folder)
    if not is_here(wanted, folder):
        raise ModelUnavailableError(
            f"The embedded model {wanted.name!r} is not here yet.",
            fix=f"Fetch it with `flyback models pull {wanted.name}`, or add another model.",
        )
    if _stamp(path).is_file() and _stamp(path).read_text() == _stamp_text(path, wanted):
        return path
    if hash_of(path) != wanted.sha256:
        raise ModelUnavailableError(
            f"The file of the embedded model {wanted.name!r} is not the released one: its hash differs.",
            fix=f"Delete {path.name!r} in the data folder's 'models' and fetch it with `flyback models pull {wanted.name}`.",
        )
    stamp(path, wanted)
    return path


def hash_of(path: Path, *, on_bytes: Callable[[int], None] = lambda _: None) -> str:
    """Return the file's SHA-256 in hex. `on_bytes` is told how many bytes were read so far."""
    digest = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            done += len(chunk)
            on_bytes(done)
    return digest.hexdigest()


def stamp(path: Path, release: Release) -> None:
    """Note that the file, as it is now, has the release's hash."""
    _stamp(path).write_text(_stamp_text(path, release))


def _stamp(path: Path) -> Path:
    return path.with_name(path.name + ".checked")


def _stamp_text(path: Path, release: Release) -> str:
    status = path.stat()
    return f"{release.sha256} {status.st_size} {status.st_mtime_ns}\n"


def _checked_magic(path: Path) -> Path:
    try:
        with path.open("rb") as file:
            is_gguf = file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise ModelUnavailableError(
            f"The model file {str(path)!r} cannot be read: {error.strerror}.", fix="Check its path and permissions."
        ) from error
    if not is_gguf:
        raise ModelUnavailableError(f"{str(path)!r} is no GGUF file.", fix="Give the path of a GGUF file.")
    return path
