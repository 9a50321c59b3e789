"""How JSON enters and leaves by the HTTP door.

A request's JSON is read by the domain's strict reader and by nothing else; an answer is written by the domain's writer, so
that an integer of any size leaves as it came.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from pydantic import JsonValue
from starlette.responses import JSONResponse, Response

from flyback.domain.json_value import dumps, loads_strict
from flyback.domain.wire import Wire


class JsonAnswer(JSONResponse):
    """An answer whose body is a JSON value."""

    media_type = "application/json"

    def render(self, content: object) -> bytes:
        return dumps(content).encode()


def list_answer(items: Sequence[Wire], *, next_cursor: str | None = None, total: int | None = None) -> JsonAnswer:
    """Answer with a page of a list. `total` is how many there are in all; without it, these are."""
    counted = len(items) if total is None else total
    return JsonAnswer({"items": list(items), "nextCursor": next_cursor, "total": counted})


class _StrictRequest(Request):
    _read: tuple[JsonValue] | None = None

    async def json(self) -> JsonValue:
        if self._read is None:
            self._read = (loads_strict(await self.body()),)
        return self._read[0]


class _StrictRoute(APIRoute):
    """A route that reads its JSON before the framework does, which would turn what goes wrong into a text of its own."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def read_then_handle(request: Request) -> Response:
            strict = _StrictRequest(request.scope, request.receive)
            if self.body_field is not None and _holds_json(request) and await strict.body():
                await strict.json()
            return await handle(strict)

        return read_then_handle


def _holds_json(request: Request) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def router(*, prefix: str, tag: str) -> APIRouter:
    """Return a router whose routes read and write JSON as this module says."""
    return APIRouter(prefix=prefix, tags=[tag], route_class=_StrictRoute, default_response_class=JsonAnswer)
