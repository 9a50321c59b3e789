"""Serves the page: the built files of the front end, looked up in a list that is made once and never joined to a path.

Every address that is no file and no call of the API is one of the page's own and gets `index.html`, with a fresh nonce for
the style elements that its libraries write.
"""

from __future__ import annotations

import hashlib
import mimetypes
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from flyback.api.problems import not_found
from flyback.domain.errors import MethodNotAllowedError

_NONCE = "__CSP_NONCE__"
_INDEX = "index.html"
_HASHED = "assets/"
"""The build puts files here whose names change with their content."""
_FOR_A_YEAR = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"
_NOT_BUILT = (
    "The page is not built yet. In a source checkout, `make setup` builds it; the API is at /api all the same.\n"
    "页面尚未构建。在源码目录中运行 `make setup` 即可构建；API 仍可在 /api 使用。\n"
)


def built_page() -> Traversable | Path:
    """Return the folder of the built page: in the wheel, or of a source checkout."""
    packed = resources.files("flyback") / "web_dist"
    return packed if packed.is_dir() else Path(__file__).parents[4] / "web" / "dist"


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    media_type: str
    etag: str
    cache: str


class Page:
    """An ASGI app for whatever no route answers."""

    def __init__(self, folder: Traversable | Path) -> None:
        self._files: Mapping[str, _File] = _read_all(folder) if folder.is_dir() else {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        await self._answer(Request(scope))(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        path = request.url.path.removeprefix("/")
        if path == "api" or path.startswith("api/"):
            raise not_found(request.url.path)
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowedError("The page can only be read.", fix="Methods: GET, HEAD.")
        index = self._files.get(_INDEX)
        if index is None:
            return PlainTextResponse(_NOT_BUILT, status_code=503)
        file = self._files.get(path)
        if file is not None and path != _INDEX:
            return _file(request, file)
        if "." in path.rpartition("/")[2] and path != _INDEX:
            raise not_found(request.url.path)
        return _page(index)


def _read_all(folder: Traversable | Path) -> Mapping[str, _File]:
    found: dict[str, _File] = {}

    def walk(at: Traversable | Path, prefix: str) -> None:
        for entry in at.iterdir():
            if entry.is_dir():
                walk(entry, f"{prefix}{entry.name}/")
            elif not entry.name.startswith("."):
                found[prefix + entry.name] = _read(entry.read_bytes(), prefix + entry.name)

    walk(folder, "")
    return found


def _read(content: bytes, name: str) -> _File:
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    media_type = "text/javascript" if kind.endswith("javascript") else kind
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return _File(content, media_type, etag, _FOR_A_YEAR if name.startswith(_HASHED) else _ASK_AGAIN)


def _file(request: Request, file: _File) -> Response:
    headers = {"Cache-Control": file.cache, "ETag": file.etag}
    if request.headers.get("if-none-match") == file.etag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.media_type, headers=headers)


def _page(index: _File) -> Response:
    nonce = secrets.token_urlsafe(18)
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; worker-src 'self'; connect-src 'self'; "
        "img-src 'self' data:; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    content = index.content.decode().replace(_NONCE, nonce)
    return Response(
        content, media_type="text/html", headers={"Cache-Control": "no-store", "Content-Security-Policy": policy}
    )
