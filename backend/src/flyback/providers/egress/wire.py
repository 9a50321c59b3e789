"""The connections of the checked calls. Imported with the first call: the library takes its time.

The check stands where a connection is opened, below everything that could ask for one: a redirect, a second request and a
library that does as it likes all come by here. The connection goes to the address that was checked, while the name stays
what is asked for in the `Host` header and in TLS. Proxies are not spoken to.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterable, AsyncIterator, Generator, Iterable
from contextlib import contextmanager
from ssl import SSLContext
from typing import Any, cast

import httpcore2
import httpx2

from flyback.providers.egress.guard import Guard

CONNECT_SECONDS = 10.0

_SOCKET_OPTION = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]


class CheckedConnections(httpx2.AsyncBaseTransport):
    """A pool of connections, each to an address that was looked at."""

    def __init__(self, guard: Guard, *, tls: SSLContext | None = None, most: int = 200, keepalive: int = 20) -> None:
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls or httpx2.create_ssl_context(trust_env=False),
            max_connections=most,
            max_keepalive_connections=keepalive,
            keepalive_expiry=15.0,
            network_backend=_CheckedNetwork(guard),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        core = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _faults():
            response = await self._pool.handle_async_request(core)
        return httpx2.Response(
            status_code=response.status,
            headers=response.headers,
            stream=_Answer(response),
            extensions=cast("dict[str, Any]", response.extensions),  # pyright: ignore[reportUnknownMemberType] -- untyped there
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Answer(httpx2.AsyncByteStream):
    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the parts of the answer. A library may ask again at the end, and is told again that there is no more."""
        with _faults():
            async for part in cast("AsyncIterable[bytes]", self._response.stream):
                yield part

    async def aclose(self) -> None:
        await self._response.aclose()


class _CheckedNetwork(httpcore2.AsyncNetworkBackend):
    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._network = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[_SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        until = time.monotonic() + min(timeout or CONNECT_SECONDS, CONNECT_SECONDS)
        failure: Exception | None = None
        for address in await self._guard.addresses_of(host, port):
            left = until - time.monotonic()
            if left <= 0:
                break
            try:
                return await self._network.connect_tcp(str(address), port, left, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore2.ConnectTimeout(f"no connection to {host!r} within {CONNECT_SECONDS:g} s")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


@contextmanager
def _faults() -> Generator[None]:
    """Say in the client library's words what failed in the one below; nobody above knows that there is one."""
    try:
        yield
    except httpcore2.ConnectTimeout as error:
        raise httpx2.ConnectTimeout(str(error)) from error
    except httpcore2.ConnectError as error:
        raise httpx2.ConnectError(str(error)) from error
    except (httpcore2.TimeoutException, httpcore2.NetworkError) as error:
        raise httpx2.ReadError(str(error) or type(error).__name__) from error
    except (httpcore2.LocalProtocolError, httpcore2.UnsupportedProtocol) as error:
        raise httpx2.LocalProtocolError(str(error)) from error
    except httpcore2.RemoteProtocolError as error:
        raise httpx2.RemoteProtocolError(str(error)) from error
