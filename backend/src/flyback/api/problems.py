"""Turns every failure into a problem document (RFC 9457), for the whole HTTP door in this one place.

A document never holds a stack trace, a path of this machine, a query or a secret; `requestId` finds the log line.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import JsonValue
from starlette.exceptions import HTTPException
from starlette.responses import Response

from flyback.api.json_body import JsonAnswer
from flyback.api.payloads import Answer, Omitted
from flyback.domain import errors
from flyback.domain.errors import (
    Fault,
    FlybackError,
    InternalError,
    PauseAnsweredError,
    RevisionConflictError,
    TooManyError,
)
from flyback.domain.json_value import mend_text

_log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
_MAX_FAULTS = 100
_STORAGE_RETRY_SECONDS = 2

STATUS: Mapping[str, int] = {
    "BAD_JSON": 400,
    "BAD_POSITION": 400,
    "BAD_REQUEST": 400,
    "HOST_REFUSED": 400,
    "UNAUTHENTICATED": 401,
    "CSRF": 403,
    "ORIGIN_REFUSED": 403,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "SKILL_NOT_FOUND": 404,
    "TOOL_UNKNOWN": 404,
    "METHOD_NOT_ALLOWED": 405,
    "BODY_TIMEOUT": 408,
    "REVISION_CONFLICT": 409,
    "RUNS_OPEN": 409,
    "PAUSE_ANSWERED": 409,
    "SEVERAL_PAUSES": 409,
    "PAUSE_CLOSED": 410,
    "TOO_LARGE": 413,
    "CONTENT_TYPE": 415,
    "INVALID": 422,
    "GRAPH_INVALID": 422,
    "INPUT_INVALID": 422,
    "IDEMPOTENCY_MISMATCH": 422,
    "MODEL_UNKNOWN": 422,
    "EGRESS_REFUSED": 422,
    "TOO_MANY": 429,
    "HEADERS_TOO_LARGE": 431,
    "INTERNAL": 500,
    "EGRESS_FAILED": 502,
    "EGRESS_LIMIT": 502,
    "TOOL_FAILED": 502,
    "TOOL_UNAVAILABLE": 502,
    "STORAGE_BUSY": 503,
    "NOT_READY": 503,
    "STORAGE_FULL": 507,
}
"""The HTTP status of each code that can be answered at this door."""


class ProblemFault(Answer):
    """One thing that is wrong: in which node and field, and what to do about it."""

    node: str | None
    field: str | None
    message: str
    fix: str | None


class Problem(Answer):
    """What every call answers that did not go well."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[ProblemFault]
    request_id: str
    current: Omitted[JsonValue]


def status_of(error: FlybackError) -> int:
    return STATUS.get(error.code, 500)


def problem_answer(error: FlybackError, *, request_id: str) -> Response:
    """Return the problem document that a failure is answered with."""
    status = status_of(error)
    document: dict[str, JsonValue] = {
        "type": f"urn:flyback:problem:{error.code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": mend_text(error.message),
        "code": error.code,
        "errors": [_fault_on_wire(fault) for fault in _faults_of(error)[:_MAX_FAULTS]],
        "requestId": request_id,
    }
    if isinstance(error, RevisionConflictError | PauseAnsweredError):
        document["current"] = error.current
    return JsonAnswer(document, status_code=status, media_type=MEDIA_TYPE, headers=_headers_of(error))


def internal_error() -> InternalError:
    return InternalError(
        "Something went wrong in the server. Nothing is known to be wrong with the call.",
        fix="Try again. If it happens again, look for the request id in the server's log.",
    )


def not_found(path: str) -> FlybackError:
    return errors.NotFoundError(f"There is nothing at {path[:200]!r}.", fix="Check the address.")


def request_id_of(request: Request) -> str:
    return str(request.scope["state"]["request_id"])


def answer_failures(app: FastAPI) -> None:
    """Make the app answer every failure with a problem document."""

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, FlybackError)
        if status_of(error) == 500:
            _log.error("request %s failed with %s", request_id_of(request), error.code, exc_info=error)
            return problem_answer(internal_error(), request_id=request_id_of(request))
        return problem_answer(error, request_id=request_id_of(request))

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return problem_answer(_refusal_of(request, error.errors(), error.body), request_id=request_id_of(request))

    async def plain(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        answer = problem_answer(_of_http(request, error), request_id=request_id_of(request))
        answer.headers.update(error.headers or {})
        return answer

    app.add_exception_handler(FlybackError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, plain)


def _faults_of(error: FlybackError) -> Sequence[Fault]:
    if error.faults:
        return error.faults
    if error.node is None and error.field is None and error.fix is None:
        return ()
    return (Fault(error.message, node=error.node, field=error.field, fix=error.fix),)


def _fault_on_wire(fault: Fault) -> dict[str, JsonValue]:
    return {"node": fault.node, "field": fault.field, "message": mend_text(fault.message), "fix": fault.fix}


def _headers_of(error: FlybackError) -> dict[str, str]:
    if isinstance(error, TooManyError):
        return {"retry-after": str(max(1, math.ceil(error.retry_after_seconds)))}
    if error.code == "STORAGE_BUSY":
        return {"retry-after": str(_STORAGE_RETRY_SECONDS)}
    if error.code == "UNAUTHENTICATED":
        return {"www-authenticate": "Bearer"}
    return {}


def _refusal_of(request: Request, found: Sequence[Mapping[str, object]], body: object) -> FlybackError:
    """Say what is wrong with a request whose shape is not the call's. The values themselves are never repeated."""
    places = [_place(one, body) for one in found]
    if places and all(where == "path" for where, _ in places):
        return not_found(request.url.path)
    said: dict[str, list[str]] = {}
    remedies: dict[str, str] = {}
    for (_, field), one in zip(places, found, strict=True):
        said.setdefault(field, []).append(str(one["msg"]).removeprefix("Value error, "))
        remedies.setdefault(field, _remedy(one))
    faults = [_shape_fault(field, "; or: ".join(whats), remedies[field]) for field, whats in said.items()]
    what = faults[0].message if len(faults) == 1 else f"{len(faults)} things in the request are not as they should be."
    return errors.InvalidError(what, faults=faults)


def _shape_fault(field: str, what: str, remedy: str) -> Fault:
    return Fault(f"{field}: {what}." if field else f"{what}.", field=field or None, fix=remedy)


def _place(one: Mapping[str, object], body: object) -> tuple[str, str]:
    """Return the part of the request and the field in it. A step that names a form the field may have is left out."""
    where = cast("Sequence[str | int]", one["loc"])
    if where[0] != "body":
        return str(where[0]), ".".join(str(step)[:100] for step in where[1:])
    steps: list[str] = []
    at: object = body
    for position, step in enumerate(where[1:], 2):
        is_there, inner = _step_into(at, step)
        if is_there:
            at = inner
        elif position < len(where) or one["type"] != "missing":
            continue
        steps.append(str(step)[:100])
    return "body", ".".join(steps)


def _step_into(value: object, step: str | int) -> tuple[bool, object]:
    if isinstance(value, Mapping):
        fields = cast("Mapping[str | int, object]", value)
        return step in fields, fields.get(step)
    if isinstance(value, list) and isinstance(step, int):
        items = cast("list[object]", value)
        return (True, items[step]) if step < len(items) else (False, None)
    return False, None


def _remedy(one: Mapping[str, object]) -> str:
    match one["type"]:
        case "missing":
            return "Send this field."
        case "extra_forbidden":
            return "Leave this field out: the call does not know it."
        case _:
            return "Correct the value; the API's description at /openapi.json has the shape."


def _of_http(request: Request, error: HTTPException) -> FlybackError:
    path = request.url.path
    match error.status_code:
        case 404:
            return not_found(path)
        case 405:
            allowed = (error.headers or {}).get("Allow", "")
            return errors.MethodNotAllowedError(
                f"{request.method[:20]} is not a method of {path[:200]!r}.",
                fix=f"Methods: {allowed}." if allowed else None,
            )
        case 400:
            return errors.BadRequestError("The body of the request cannot be read.", fix="Check its form.")
        case _:
            return internal_error()
