"""The wire under the provider libraries: limits, faults and headers of one call, the same for every provider.

A call's transport wraps the shared connection pool. It sees the bytes, so it keeps the times and the size; it sees the
status, so it says what a failure means; and it follows no redirect, so a key never leaves the origin it was entered for.
What goes wrong here is raised as the engine's own error; the libraries wrap it, and `library.fault_in` takes it out.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from typing import TypeVar

import httpx2

from flyback.domain.errors import (
    EgressRefusedError,
    EgressUnavailableError,
    ModelRefusedError,
    ModelUnreadableError,
    NodeError,
    OutputTooLargeError,
)
from flyback.domain.redaction import Redactor
from flyback.engine.ports import Clock
from flyback.providers.chat.answers import as_stream, message_in, retry_after_seconds
from flyback.providers.faults import cut, fault_of_status, timed_out, unavailable
from flyback.providers.limits import CallLimits

_ERROR_BYTES = 64 * 1024
_CONNECT_SECONDS = 10.0
_STATUS_FIX = "Look at the provider's status and at the network in between."
_DONE = b"[DONE]"
_FOREIGN_HEADERS = ("openai-organization", "openai-project")
"""What the library takes from the environment, for OpenAI itself."""

_TELLTALE = "x-stainless-"
"""What the libraries tell of this machine."""

T = TypeVar("T")


@dataclass(slots=True)
class Call:
    """One call on the wire: what it may take, and what was seen of it."""

    model: str
    idempotency_key: str
    limits: CallLimits
    clock: Clock
    redactor: Redactor
    has_key: bool
    is_openai: bool
    speaks_openai: bool
    began: float = 0.0
    answer_began: bool = False
    said_done: bool = False
    """Whether the end of an answer in OpenAI's protocol was seen."""
    received_bytes: int = 0

    async def in_time(self, wait: Awaitable[T]) -> T:
        """Wait no longer than what is left of the phase and of the whole call."""
        limits = self.limits
        spent = self.clock.monotonic() - self.began
        phase = limits.between_chunks_seconds if self.answer_began else limits.first_byte_seconds - spent
        in_all = limits.total_seconds - spent
        try:
            async with self.clock.timeout(max(0.0, min(phase, in_all))):
                return await wait
        except TimeoutError:
            raise self._late(in_all < phase) from None

    def take(self, chunk: bytes) -> None:
        self.answer_began = True
        self.received_bytes += len(chunk)
        if self.received_bytes > self.limits.answer_bytes:
            size = f"{self.limits.answer_bytes / 1024 / 1024:g} MiB"
            fix = "Ask for a shorter answer, or set 'maxTokens'."
            raise OutputTooLargeError(f"Model {self.model!r}: the answer is larger than {size}.", fix=fix)

    def _late(self, in_all: bool) -> NodeError:
        if in_all:
            return timed_out(self.model, f"the answer was not complete after {self.limits.total_seconds:g} s.")
        if self.answer_began:
            return timed_out(self.model, f"the answer stopped for {self.limits.between_chunks_seconds:g} s.")
        return timed_out(self.model, f"no byte of an answer within {self.limits.first_byte_seconds:g} s.")

    def broken(self, error: Exception) -> NodeError:
        """Return the error for a failure of the connection."""
        said = cut(self.redactor.text(str(error))) or type(error).__name__
        if isinstance(error, httpx2.ConnectTimeout):
            return timed_out(self.model, f"no connection within {_CONNECT_SECONDS:g} s.")
        if isinstance(error, httpx2.ConnectError):
            return self.not_connected(said)
        if isinstance(error, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
            fix = "Check the base URL and the API key of the model entry."
            return ModelRefusedError(f"Model {self.model!r}: the call cannot be sent ({said}).", fix=fix)
        return unavailable(f"Model {self.model!r}: the connection broke ({said}).", fix=_STATUS_FIX)

    def not_connected(self, why: str) -> NodeError:
        fix = "Check the base URL of the model entry, and that the server runs."
        return unavailable(f"Model {self.model!r}: no connection ({why}).", fix=fix)

    def unreadable(self, what: str) -> NodeError:
        fix = "Check that the base URL is that of the API, and not of a page."
        return ModelUnreadableError(f"Model {self.model!r}: {what}", fix=fix)


class CallTransport(httpx2.AsyncBaseTransport):
    """Carries one call over the shared connections."""

    def __init__(self, connections: httpx2.AsyncBaseTransport, call: Call) -> None:
        self._connections = connections
        self._call = call

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        call = self._call
        call.began = call.clock.monotonic()
        self._dress(request)
        try:
            response = await call.in_time(self._connections.handle_async_request(request))
        except httpx2.TransportError as error:
            raise call.broken(error) from error
        except EgressUnavailableError as error:
            raise call.not_connected(error.message) from error
        except EgressRefusedError as error:
            raise ModelRefusedError(f"Model {call.model!r}: {error.message}.", fix=error.fix) from error
        try:
            return await self._accept(response)
        except BaseException:
            await response.aclose()
            raise

    def _dress(self, request: httpx2.Request) -> None:
        headers = request.headers
        headers["Idempotency-Key"] = self._call.idempotency_key
        headers["Accept-Encoding"] = "identity"
        headers["User-Agent"] = "flyback"
        for name in [name for name in headers if name.startswith(_TELLTALE)]:
            del headers[name]
        if not self._call.has_key:
            headers.pop("Authorization", None)
        if not self._call.is_openai:
            for name in _FOREIGN_HEADERS:
                headers.pop(name, None)
        waits = {"connect": _CONNECT_SECONDS, "read": None, "write": None, "pool": None}
        request.extensions = {**request.extensions, "timeout": waits}

    async def _accept(self, response: httpx2.Response) -> httpx2.Response:
        call = self._call
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        body = _Body(response.stream, call)
        if not response.is_success:
            raise await _refusal(call, response, body)
        if response.headers.get("content-encoding", "identity") != "identity":
            raise call.unreadable("the answer is compressed, though that was not asked for.")
        kind = response.headers.get("content-type", "")
        if kind.startswith("text/html"):
            raise call.unreadable(f"the answer is a page: {cut(call.redactor.text(await _begin_of(body)))}")
        if kind.startswith("application/json") and call.speaks_openai:
            return await _streamed(call, response, body)
        return httpx2.Response(response.status_code, headers=response.headers, stream=body)

    async def aclose(self) -> None:
        """The connections outlive the call."""


class _Body(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, call: Call) -> None:
        self._stream = stream
        self._call = call

    async def __aiter__(self) -> AsyncIterator[bytes]:
        call = self._call
        chunks = aiter(self._stream)
        tail = b""
        while True:
            try:
                chunk = await call.in_time(anext(chunks, None))
            except httpx2.TransportError as error:
                raise call.broken(error) from error
            if chunk is None:
                return
            call.take(chunk)
            tail = (tail + chunk)[-max(len(_DONE), len(chunk)) - len(_DONE) :]
            call.said_done = call.said_done or _DONE in tail
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _refusal(call: Call, response: httpx2.Response, body: _Body) -> NodeError:
    after = retry_after_seconds(response.headers, call.clock.now())
    where = response.headers.get("location")
    detail = f"redirected to {where}" if response.is_redirect and where else message_in(await _begin_of(body))
    return fault_of_status(call.model, response.status_code, call.redactor.text(detail), retry_after_seconds=after)


async def _begin_of(body: _Body) -> str:
    """Read what is worth showing of a body; a body that breaks off shows what came."""
    read = b""
    try:
        async for chunk in body:
            read += chunk
            if len(read) >= _ERROR_BYTES:
                break
    except NodeError:
        pass
    return read[:_ERROR_BYTES].decode("utf-8", "replace")


async def _streamed(call: Call, response: httpx2.Response, body: _Body) -> httpx2.Response:
    """Give a whole answer, from a server that does not stream, the form of a stream."""
    whole = b"".join([chunk async for chunk in body])
    await response.aclose()
    answer = as_stream(whole)
    if isinstance(answer, str):
        raise unavailable(f"Model {call.model!r}: {cut(call.redactor.text(answer))}", fix=_STATUS_FIX)
    if answer is None:
        raise call.unreadable(f"the answer is not a chat completion: {cut(call.redactor.text(_text(whole[:500])))}")
    call.said_done = True
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=answer)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
