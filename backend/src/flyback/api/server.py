"""How uvicorn is set up for this door, and the limits that only the HTTP protocol itself can hold.

A request's headers must be there within ten seconds and fit into 16 KiB, before any application sees the request. What a
gate can hold is held there (`gates/`).
"""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import Any, Final

import h11
import orjson
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from flyback.api.gates.origin import MAX_HEADER_BYTES
from flyback.api.problems import MEDIA_TYPE

HEADER_SECONDS: Final = 10.0
_LINGER_SECONDS: Final = 1.0
_log = logging.getLogger(__name__)

_REFUSALS = {
    431: (
        "HEADERS_TOO_LARGE",
        "Request Header Fields Too Large",
        f"The headers are larger than {MAX_HEADER_BYTES} bytes.",
    ),
    400: ("BAD_REQUEST", "Bad Request", "This is no HTTP request that can be read."),
}


class BoundedProtocol(H11Protocol):
    """HTTP/1.1 that does not wait for ever: a connection whose request is not there in time is closed."""

    header_seconds: float = HEADER_SECONDS

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._header_timer: asyncio.TimerHandle | None = None
        self._refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self._await_headers()
        elif self.conn.their_state is not h11.IDLE:
            self._headers_are_there()

    def connection_lost(self, exc: Exception | None) -> None:
        self._headers_are_there()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 -- uvicorn hands it in
        # uvicorn calls this while it handles h11's refusal, which knows the better status.
        refusal = sys.exception()
        if self.scope is not None:  # pyright: ignore[reportUnnecessaryComparison] -- None before the first request
            # What still works on the beginning of this request has nobody to answer any more.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        status = refusal.error_status_hint if isinstance(refusal, h11.RemoteProtocolError) else 400
        code, title, detail = _REFUSALS.get(status, _REFUSALS[400])
        problem = {
            "type": f"urn:flyback:problem:{code}",
            "title": title,
            "status": status,
            "detail": detail,
            "code": code,
        }
        body = orjson.dumps({**problem, "errors": [], "requestId": ""})
        headers = [("content-type", MEDIA_TYPE), ("connection", "close"), ("content-length", str(len(body)))]
        for event in (h11.Response(status_code=status, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event))
        self._linger()

    def _linger(self) -> None:
        """Close after a moment: a sender who still sends would lose the answer with the connection."""
        self._refused = True
        self._headers_are_there()
        self.transport.write_eof()
        self.loop.call_later(_LINGER_SECONDS, self.transport.close)

    def _await_headers(self) -> None:
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(self.header_seconds, self._close_late)

    def _headers_are_there(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _close_late(self) -> None:
        self._header_timer = None
        _log.info("closed a connection whose request was not there after %.0f s", self.header_seconds)
        self.transport.close()


def server_config(app: FastAPI, *, protocol: type[BoundedProtocol] = BoundedProtocol) -> uvicorn.Config:
    """Return how uvicorn serves this app. Its own access log is off: it would write queries."""
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=5,
    )
