"""The outermost gate: gives each request its id, writes its line in the log, and answers whatever failed inside.

An address is read as everything else that comes in: NUL, which no text in the database can hold, becomes U+FFFD.

The line holds no query and no header: that is where secrets travel.
"""

from __future__ import annotations

import logging
import time
import uuid

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flyback.api.problems import internal_error, problem_answer
from flyback.api.traffic import Traffic
from flyback.domain.errors import FlybackError
from flyback.domain.json_value import mend_text

_log = logging.getLogger("flyback.access")


class RequestGate:
    def __init__(self, app: ASGIApp, *, traffic: Traffic) -> None:
        self._app = app
        self._traffic = traffic

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope = _with_plain_address(scope)
        request_id = uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0
        began = time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            status = status or 499
        except FlybackError as error:
            await problem_answer(error, request_id=request_id)(scope, receive, watched)
        except Exception:
            _log.exception("request %s failed", request_id)
            if status:
                raise
            await problem_answer(internal_error(), request_id=request_id)(scope, receive, watched)
        finally:
            seconds = time.perf_counter() - began
            self._traffic.note(scope["method"], status, seconds)
            _log.info("%s %s %s %d %.0f ms", request_id, scope["method"], _printable(scope), status, seconds * 1000)


def _with_plain_address(scope: Scope) -> Scope:
    path, query = scope["path"], scope.get("query_string", b"")
    if "\0" not in path and b"%00" not in query:
        return scope
    return {**scope, "path": mend_text(path), "query_string": query.replace(b"%00", b"%EF%BF%BD")}


def _printable(scope: Scope) -> str:
    """The path on one line, whatever was sent."""
    return scope["path"][:300].encode("unicode_escape").decode("ascii")
