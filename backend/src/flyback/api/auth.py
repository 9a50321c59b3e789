"""Signing in and out, and API keys."""

from __future__ import annotations

from typing import cast

from fastapi import Request, Response

from flyback.api.deps import All, Caller
from flyback.api.json_body import router
from flyback.api.payloads import Id
from flyback.api.wire.people import (
    ApiKey,
    ApiKeyGiven,
    ApiKeyList,
    ApiKeyMade,
    Session,
    SessionList,
    SignedInBrowser,
    SignInGiven,
    User,
)
from flyback.services.actor import Actor, Right
from flyback.services.auth import SESSION_LIFE
from flyback.storage.auth import ApiKeyRow

routes = router(prefix="/api/auth", tag="auth")


@routes.post("/sign-in")
async def sign_in(body: SignInGiven, request: Request, response: Response, services: All) -> Session:
    """Turn the secret of a one-time link into a session cookie. Open to anybody; failures are throttled."""
    client = request.client.host if request.client else "unknown"
    browser = request.headers.get("user-agent", "")
    signed_in = await services.auth.sign_in(body.secret, client=client, browser=browser)
    access = request.app.state.access
    response.set_cookie(
        access.cookie_name,
        signed_in.token,
        max_age=int(SESSION_LIFE.total_seconds()),
        path="/",
        secure=access.cookie_secure,
        httponly=True,
        samesite="strict",
    )
    return _session(signed_in.actor)


@routes.post("/sign-out", status_code=204)
async def sign_out(request: Request, response: Response, caller: Caller, services: All) -> None:
    """End this session."""
    await services.auth.sign_out(caller)
    response.delete_cookie(request.app.state.access.cookie_name, path="/", httponly=True, samesite="strict")


@routes.get("/me")
async def read_me(caller: Caller) -> Session:
    """Who calls, and the token that writing calls of the page send."""
    return _session(caller)


@routes.get("/sessions")
async def list_sessions(caller: Caller, services: All) -> SessionList:
    """The browsers in which the caller is signed in."""
    items = [
        SignedInBrowser(
            id=one.id,
            browser=one.row.client,
            created_at=one.row.created_at,
            expires_at=one.row.expires_at,
            is_this=one.is_this,
        )
        for one in await services.auth.sessions(caller)
    ]
    return SessionList(items=items, total=len(items))


@routes.delete("/sessions/{session_id}", status_code=204)
async def end_session(session_id: Id, caller: Caller, services: All) -> None:
    """Sign a browser out."""
    await services.auth.end_session(caller, session_id)


@routes.get("/api-keys")
async def list_api_keys(caller: Caller, services: All) -> ApiKeyList:
    items = [_key(row) for row in await services.auth.keys(caller)]
    return ApiKeyList(items=items, total=len(items))


@routes.post("/api-keys", status_code=201)
async def make_api_key(body: ApiKeyGiven, caller: Caller, services: All) -> ApiKeyMade:
    """Make a key. The answer is the only place where it is ever shown."""
    made = await services.auth.make_key(caller, name=body.name, scope=body.scope, expires_at=body.expires_at)
    return ApiKeyMade(**_key(made.row).model_dump(), key=made.key)


@routes.delete("/api-keys/{key_id}", status_code=204)
async def revoke_api_key(key_id: Id, caller: Caller, services: All) -> None:
    await services.auth.revoke_key(caller, key_id)


def _session(actor: Actor) -> Session:
    return Session(csrf_token=actor.csrf_token, user=User(id=actor.user_id, name=actor.name, role=actor.role))


def _key(row: ApiKeyRow) -> ApiKey:
    return ApiKey(
        id=row.id,
        name=row.name,
        hint=row.hint,
        scope=cast("Right", row.scope),
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
    )
