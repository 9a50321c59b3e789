"""Refuses calls that name another host (DNS rebinding) or come from another page, another port of this machine included."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from flyback.api.access import Access
from flyback.domain.errors import HeadersTooLargeError, HostRefusedError, OriginRefusedError

MAX_HEADER_BYTES = 16 * 1024


class OriginGate:
    def __init__(self, app: ASGIApp, *, access: Access) -> None:
        self._app = app
        self._hosts = frozenset(host.encode() for host in access.hosts)
        self._origins = frozenset(origin.encode() for origin in access.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers: list[tuple[bytes, bytes]] = scope["headers"]
            _check_size(scope, headers)
            self._check_host([value for name, value in headers if name == b"host"])
            self._check_origin([value for name, value in headers if name == b"origin"])
        await self._app(scope, receive, send)

    def _check_host(self, hosts: list[bytes]) -> None:
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            raise HostRefusedError(
                "This server does not answer to that host name.",
                field="Host",
                fix="Use the address that the server printed at its start, or start it with --host for another name.",
            )

    def _check_origin(self, origins: list[bytes]) -> None:
        if origins and (len(origins) > 1 or origins[0] not in self._origins):
            raise OriginRefusedError(
                "This call comes from a page of another origin.",
                field="Origin",
                fix="Call from the server's own page, or without a browser and with an API key.",
            )


def _check_size(scope: Scope, headers: list[tuple[bytes, bytes]]) -> None:
    line = len(scope.get("raw_path") or b"") + len(scope.get("query_string", b""))
    if line + sum(len(name) + len(value) + 4 for name, value in headers) > MAX_HEADER_BYTES:
        raise HeadersTooLargeError(
            f"The request's headers are larger than {MAX_HEADER_BYTES // 1024} KiB.",
            fix="Send fewer or shorter headers; clear the cookies of this host.",
        )
