"""The one way to the outside for addresses that workflows, skills and imports name.

What a call takes along is meant for one origin (scheme, host and port). A redirect to another one gets neither the
headers that the node set nor a body; where the body would have to be sent again, it is not followed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from flyback.domain.errors import (
    ConfigInvalidError,
    EgressFailedError,
    EgressLimitError,
    EgressRefusedError,
    EgressSlowError,
    EgressUnavailableError,
    NodeError,
)
from flyback.engine.ports import Clock, Header, WebAnswer, WebRequest
from flyback.providers.egress import inflate
from flyback.providers.egress.addresses import AllowList
from flyback.providers.egress.guard import Guard, Resolver, system_resolver
from flyback.providers.egress.limits import EgressLimits

if TYPE_CHECKING:  # loaded with the first call
    from ssl import SSLContext

    import httpx2

_REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OURS = frozenset(
    {"accept-encoding", "connection", "content-length", "host", "transfer-encoding", "proxy-authorization"}
)
_FOR_ANYBODY = frozenset({"accept", "accept-language", "user-agent"})
_AGENT = "Flyback"
_FIX_NETWORK = "Check the address, and that the server runs."


class HttpEgress:
    """Makes HTTP calls to public addresses, and to those that the operator listed."""

    def __init__(
        self,
        allowed: AllowList,
        *,
        clock: Clock,
        limits: EgressLimits | None = None,
        resolver: Resolver = system_resolver,
        tls: SSLContext | None = None,
    ) -> None:
        self._guard = Guard(allowed, resolver)
        self._clock = clock
        self.limits = limits or EgressLimits()
        self._tls = tls
        self._connections: httpx2.AsyncBaseTransport | None = None
        self._opening = asyncio.Lock()

    async def fetch(self, request: WebRequest) -> WebAnswer:
        _check(request.url)
        connections = await self.connections()
        try:
            async with self._clock.timeout(self.limits.total_seconds):
                return await self._follow(connections, request)
        except TimeoutError:
            seconds = self.limits.total_seconds
            what = f"the answer of {_origin_text(request.url)} was not complete after {seconds:g} s"
            raise _late(what, may_repeat=request.method in _REPEATABLE) from None

    async def connections(self) -> httpx2.AsyncBaseTransport:
        """Return the checked connections, for a client that speaks a protocol of its own over HTTP."""
        if self._connections is None:
            async with self._opening:
                if self._connections is None:
                    self._connections = await asyncio.to_thread(_open, self._guard, self._tls)
        return self._connections

    async def close(self) -> None:
        if self._connections is not None:
            connections, self._connections = self._connections, None
            await connections.aclose()

    async def _follow(self, connections: httpx2.AsyncBaseTransport, request: WebRequest) -> WebAnswer:
        for _ in range(self.limits.redirects + 1):
            answer = await self._once(connections, request)
            following = _redirected(request, answer)
            if following is None:
                return answer
            request = following
        raise EgressLimitError(
            f"more than {self.limits.redirects} redirects, the last to {_origin_text(request.url)}",
            fix="Enter the address where it ends.",
        )

    async def _once(self, connections: httpx2.AsyncBaseTransport, request: WebRequest) -> WebAnswer:
        import httpx2

        try:
            sent = _on_wire(request)
        except (httpx2.InvalidURL, UnicodeError, ValueError, TypeError) as error:
            raise ConfigInvalidError(f"the request cannot be sent: {error}", field="url") from error
        began = False
        try:
            response = await connections.handle_async_request(sent)
            try:
                began = True
                body = await self._body(response)
            finally:
                await response.aclose()
        except httpx2.TransportError as error:
            raise _broken(request, error, began=began) from error
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in response.headers.raw]
        return WebAnswer(response.status_code, headers, self._unfolded(body, response), request.url)

    async def _body(self, response: httpx2.Response) -> bytes:
        body = bytearray()
        async with aclosing(response.aiter_raw()) as parts:
            async for part in parts:
                body += part
                if len(body) > self.limits.answer_bytes:
                    raise self._too_large()
        return bytes(body)

    def _unfolded(self, body: bytes, response: httpx2.Response) -> bytes:
        try:
            return inflate.inflate(body, response.headers.get("content-encoding", ""), self.limits.answer_bytes)
        except inflate.InflatedTooLargeError:
            raise self._too_large() from None
        except (inflate.UnknownEncodingError, inflate.BrokenEncodingError) as error:
            raise EgressFailedError(
                f"the answer is compressed in a way that cannot be undone ({error})",
                fix="Ask the server for an answer that is not compressed.",
            ) from error

    def _too_large(self) -> EgressLimitError:
        size = f"{self.limits.answer_bytes / 1024 / 1024:g} MiB"
        return EgressLimitError(f"the answer is larger than {size}", fix="Ask for a part of it.")


def _open(guard: Guard, tls: SSLContext | None) -> httpx2.AsyncBaseTransport:
    from flyback.providers.egress.wire import CheckedConnections

    return CheckedConnections(guard, tls=tls)


def _on_wire(request: WebRequest) -> httpx2.Request:
    import httpx2

    headers = [(name, value) for name, value in request.headers if name.lower() not in _OURS]
    given = {name.lower() for name, _ in headers}
    if "user-agent" not in given:
        headers.append(("User-Agent", _AGENT))
    if "accept" not in given:
        headers.append(("Accept", "*/*"))
    headers.append(("Accept-Encoding", inflate.ACCEPTED))
    timeout = httpx2.Timeout(None, connect=10.0, pool=10.0)
    return httpx2.Request(
        request.method,
        request.url,
        headers=[(name.encode("ascii"), value.encode("utf-8")) for name, value in headers],
        content=request.body,
        extensions={"timeout": timeout.as_dict()},
    )


def _check(url: str) -> None:
    """Raises ConfigInvalidError: this is no address that could be called."""
    fix = "Give an address such as https://api.example.org/items."
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ConfigInvalidError(f"the address {url!r} cannot be read: {error}", field="url", fix=fix) from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ConfigInvalidError(f"the address {url!r} is no http or https address", field="url", fix=fix)
    if "@" in parts.netloc:
        raise ConfigInvalidError(
            "an address with a user and password in it is not called", field="url", fix="Give them under 'auth'."
        )
    if any(ord(char) <= 32 or ord(char) == 127 or char == "\\" for char in url):
        raise ConfigInvalidError(
            f"the address {url!r} has blanks or signs in it that no address has",
            field="url",
            fix="Give values with such signs under 'query': they are encoded there.",
        )


def _redirected(request: WebRequest, answer: WebAnswer) -> WebRequest | None:
    """Return the request that follows a redirect, or None where the answer is the answer.

    Raises:
        EgressRefusedError: it leads where it must not lead.
    """
    location = next((value for name, value in answer.headers if name == "location"), None)
    if answer.status not in _REDIRECTS or not location:
        return None
    url = urljoin(request.url, location)
    try:
        _check(url)
    except ConfigInvalidError as error:
        raise EgressRefusedError(
            f"{_origin_text(request.url)} redirects to an address that is not followed: {error.message}",
            fix="Enter the address where it ends.",
        ) from error
    following = replace(request, url=url.partition("#")[0])
    if (answer.status == 303 and request.method != "HEAD") or (
        answer.status in (301, 302) and request.method == "POST"
    ):
        following = replace(following, method="GET", body=None, headers=_without(request.headers, "content-"))
    if _origin(url) == _origin(request.url):
        return following
    if following.body is not None:
        raise EgressRefusedError(
            f"{_origin_text(request.url)} redirects to {_origin_text(url)}, and what was sent is not sent on to another",
            fix="Enter the address where it ends, if you trust it.",
        )
    return replace(following, headers=[header for header in following.headers if header[0].lower() in _FOR_ANYBODY])


def _without(headers: Sequence[Header], prefix: str) -> list[Header]:
    return [header for header in headers if not header[0].lower().startswith(prefix)]


def _origin(url: str) -> tuple[str, str, int]:
    parts = urlsplit(url)
    return parts.scheme, (parts.hostname or "").rstrip("."), parts.port or (443 if parts.scheme == "https" else 80)


def _origin_text(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _broken(request: WebRequest, error: Exception, *, began: bool) -> NodeError:
    import httpx2

    where = _origin_text(request.url)
    said = str(error) or type(error).__name__
    if isinstance(error, httpx2.ConnectTimeout):
        return _late(f"no connection to {where} within 10 s", may_repeat=True)
    if isinstance(error, httpx2.ConnectError | httpx2.PoolTimeout):
        return EgressUnavailableError(f"no connection to {where} ({said})", fix=_FIX_NETWORK)
    if isinstance(error, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol):
        return ConfigInvalidError(f"the request cannot be sent: {said}", fix="Check the method and the headers.")
    what = f"the answer of {where} broke off ({said})" if began else f"{where} did not answer ({said})"
    kind = EgressUnavailableError if request.method in _REPEATABLE else EgressFailedError
    return kind(what, fix=_FIX_NETWORK)


def _late(what: str, *, may_repeat: bool) -> EgressLimitError:
    kind = EgressSlowError if may_repeat else EgressLimitError
    return kind(what, fix="Check that the server is up, and ask for less at once.")
