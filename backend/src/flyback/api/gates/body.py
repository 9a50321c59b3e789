"""Bounds a request's body while it is read: what it is, how large it may be, how long it may take.

The framework below turns a failure of reading into a text of its own, so a refusal is remembered here and answered in its
place.
"""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flyback.api.problems import problem_answer
from flyback.domain.errors import BodyTimeoutError, ContentTypeError, FlybackError, TooLargeError

MAX_BODY_BYTES = 5 * 1024 * 1024
MAX_UPLOAD_BYTES = 50 * 1024 * 1024
BODY_SECONDS = 60.0
UPLOADS = frozenset({"/api/workflows/import", "/api/skills/upload"})
"""Paths that take `multipart/form-data` too."""

_WRITING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_DRAIN_SECONDS = 2.0
_DRAIN_BYTES = 16 * 1024 * 1024


class BodyGate:
    def __init__(self, app: ASGIApp, *, body_seconds: float = BODY_SECONDS) -> None:
        self._app = app
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        is_upload = _content_kind(headers) == "multipart/form-data"
        limit = MAX_UPLOAD_BYTES if is_upload and scope["path"] in UPLOADS else MAX_BODY_BYTES
        if _declared_size(headers) > limit:
            await _drain(headers, receive)
            raise _too_large(limit)
        _check_kind(scope, headers)
        body = _Body(scope, receive, send, limit=limit, seconds=self._body_seconds)
        await self._app(scope, body.receive, body.send)


class _Body:
    def __init__(self, scope: Scope, receive: Receive, send: Send, *, limit: int, seconds: float) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._limit, self._seconds = limit, seconds
        self._deadline: float | None = None
        self._size = 0
        self._whole = False
        self._refusal: FlybackError | None = None

    async def receive(self) -> Message:
        if self._whole:
            return await self._receive()
        message = await self._next_piece()
        if message["type"] == "http.request":
            self._size += len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._size > self._limit:
                await _drain(Headers(scope=self._scope), self._receive)
                raise self._refused(_too_large(self._limit))
        return message

    async def _next_piece(self) -> Message:
        now = asyncio.get_running_loop().time()
        self._deadline = self._deadline or now + self._seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                return await self._receive()
        except TimeoutError:
            late = BodyTimeoutError(
                f"The body of the request was not there after {self._seconds:.0f} s.",
                fix="Send it faster, or in a smaller piece.",
            )
            raise self._refused(late) from None

    def _refused(self, refusal: FlybackError) -> FlybackError:
        self._refusal = refusal
        self._whole = True
        return refusal

    async def send(self, message: Message) -> None:
        if self._refusal is None:
            await self._send(message)
        elif message["type"] == "http.response.start":
            answer = problem_answer(self._refusal, request_id=self._scope["state"]["request_id"])
            answer.headers["connection"] = "close"
            await answer(self._scope, self._receive, self._send)


def _content_kind(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _declared_size(headers: Headers) -> int:
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


def _check_kind(scope: Scope, headers: Headers) -> None:
    has_body = _declared_size(headers) > 0 or "transfer-encoding" in headers
    if scope["method"] not in _WRITING or not has_body:
        return
    kind = _content_kind(headers)
    if kind == "application/json" or (kind == "multipart/form-data" and scope["path"] in UPLOADS):
        return
    wanted = "application/json or multipart/form-data" if scope["path"] in UPLOADS else "application/json"
    raise ContentTypeError(
        "The body is of a kind that this call does not take.", field="Content-Type", fix=f"Send {wanted}."
    )


def _too_large(limit: int) -> TooLargeError:
    return TooLargeError(f"The body is larger than {limit // (1024 * 1024)} MiB.", fix="Send less.")


async def _drain(headers: Headers, receive: Receive) -> None:
    """Read on for a moment: a connection that is closed on a sender who still sends loses the answer."""
    if "expect" in headers:
        return
    size = 0
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            while size < _DRAIN_BYTES:
                message = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body", False):
                    return
    except TimeoutError:
        return
