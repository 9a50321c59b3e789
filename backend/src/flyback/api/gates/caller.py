"""Finds out who calls, by a bearer key or the session cookie, and whether they may: on everything but what has to be open.

Writing calls that come with the cookie need the session's CSRF token as well; a bearer key is its own proof. Where both
come, the key counts alone.
"""

from __future__ import annotations

import hmac

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from flyback.api.access import Access
from flyback.api.rights import right_for
from flyback.domain.errors import CsrfError, UnauthenticatedError
from flyback.services.actor import Actor
from flyback.services.auth import Auth

SIGN_IN = "/api/auth/sign-in"
_PROTECTED = frozenset({"/api", "/metrics", "/openapi.json"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})


class CallerGate:
    def __init__(self, app: ASGIApp, *, access: Access, auth: Auth) -> None:
        self._app = app
        self._access = access
        self._auth = auth

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _is_protected(scope["path"]):
            actor = await self._caller(Request(scope))
            actor.check(right_for(scope["method"], scope["path"]))
            scope["state"]["actor"] = actor
        await self._app(scope, receive, send)

    async def _caller(self, request: Request) -> Actor:
        authorization = request.headers.get("authorization")
        if authorization is not None:
            scheme, _, key = authorization.partition(" ")
            actor = await self._auth.actor_of_key(key.strip()) if scheme.lower() == "bearer" else None
            return actor or _refuse("The API key is not known, was revoked or has expired.", "Make a new one.")
        token = request.cookies.get(self._access.cookie_name)
        actor = await self._auth.actor_of_session(token) if token else None
        if actor is None:
            return _refuse("You are not signed in.", "Open the sign-in link, or run `flyback sign-in` for a new one.")
        if request.method not in _READING:
            _check_csrf(actor, request.headers.get("x-csrf-token", ""))
        return actor


def _is_protected(path: str) -> bool:
    return (path in _PROTECTED or path.startswith("/api/")) and path != SIGN_IN


def _refuse(what: str, fix: str) -> Actor:
    raise UnauthenticatedError(what, fix=fix)


def _check_csrf(actor: Actor, token: str) -> None:
    if not hmac.compare_digest(token.encode(), (actor.csrf_token or "").encode()):
        raise CsrfError(
            "The call lacks its session's CSRF token.",
            field="X-CSRF-Token",
            fix="Send the csrfToken of GET /api/auth/me as X-CSRF-Token, or use an API key.",
        )
