"""An HTTP call of a node: the key that it carries, and what of it goes on record.

Names that carry secrets stay, what they carry does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pydantic import JsonValue

from flyback.domain.pause import CallAsked
from flyback.engine.ports import Header, WebAnswer, WebRequest

KEY_HEADER = "Idempotency-Key"
MASK = "[secret]"

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_SECRET = ("authorization", "cookie", "token", "secret", "api-key", "apikey", "password", "credential", "signature")
_SECRET_IN_QUERY = re.compile(
    r"([?&][^=&#]*(?:auth|token|secret|key|password|credential|sig)[^=&#]*=)[^&#]*", re.IGNORECASE
)
_SHOWN_BYTES = 64 * 1024


def with_key(request: WebRequest, key: str) -> WebRequest:
    """Add the call's key to a request that may change something, unless the node gives its own."""
    if request.method in _SAFE or any(name.lower() == KEY_HEADER.lower() for name, _ in request.headers):
        return request
    return replace(request, headers=[*request.headers, (KEY_HEADER, key)])


def of_request(request: WebRequest) -> JsonValue:
    body: dict[str, JsonValue] = {} if request.body is None else {"body": _shown_body(request.body)}
    return {**_head(request), **body}


def asked(name: str, request: WebRequest) -> CallAsked:
    """Return the request as a person is asked whether it may be made: nothing of it cut, secrets masked."""
    body: dict[str, JsonValue] = {} if request.body is None else {"body": request.body.decode("utf-8", "replace")}
    return CallAsked.of(name, None, {**_head(request), **body}, kind="http", unshown=_unshown(request))


def of_answer(answer: WebAnswer) -> JsonValue:
    return {
        "status": answer.status,
        "url": _shown_url(answer.url),
        "headers": _shown_headers(answer.headers),
        "body": _shown_body(answer.body),
    }


def _unshown(request: WebRequest) -> JsonValue:
    """Return what is masked or cannot be shown."""
    headers: list[JsonValue] = [[name, value] for name, value in request.headers]
    return [request.url, headers, None if request.body is None else request.body.hex()]


def _head(request: WebRequest) -> dict[str, JsonValue]:
    return {
        "method": request.method,
        "url": _shown_url(request.url),
        "headers": _shown_headers(request.headers),
    }


def _shown_url(url: str) -> str:
    return _SECRET_IN_QUERY.sub(lambda found: found[1] + MASK, url)


def _shown_headers(headers: Sequence[Header]) -> dict[str, JsonValue]:
    shown: dict[str, JsonValue] = {}
    for name, value in headers:
        masked = MASK if any(word in name.lower() for word in _SECRET) else value
        before = shown.get(name)
        shown[name] = masked if before is None else f"{before}, {masked}"
    return shown


def _shown_body(body: bytes) -> str:
    text = body[:_SHOWN_BYTES].decode("utf-8", "replace")
    return text if len(body) <= _SHOWN_BYTES else f"{text}… ({len(body):,} bytes)"
