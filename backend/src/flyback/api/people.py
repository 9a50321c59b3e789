"""The people of an installation, and what was done in it. For administrators."""

from __future__ import annotations

from typing import cast

from flyback.api.deps import DEFAULT, All, Caller, Cursor, Limit
from flyback.api.json_body import router
from flyback.api.payloads import Id
from flyback.api.wire.people import AuditEntry, AuditLog, Invitation, KnownUser, RoleGiven, UserGiven, UserList
from flyback.services.actor import Role
from flyback.services.people import Invited
from flyback.storage.auth import UserRow

routes = router(prefix="/api", tag="people")


@routes.get("/users")
async def list_users(caller: Caller, services: All) -> UserList:
    items = [_user(row) for row in await services.people.all(caller)]
    return UserList(items=items, total=len(items))


@routes.post("/users", status_code=201)
async def add_user(body: UserGiven, caller: Caller, services: All) -> Invitation:
    """Add somebody. The answer holds the secret of a sign-in link for them."""
    return _invitation(await services.people.add(caller, name=body.name, role=body.role))


@routes.post("/users/{user_id}/sign-in-link", status_code=201)
async def invite_user(user_id: Id, caller: Caller, services: All) -> Invitation:
    """Another sign-in link for somebody."""
    return _invitation(await services.people.invite(caller, user_id))


@routes.patch("/users/{user_id}")
async def change_role(user_id: Id, body: RoleGiven, caller: Caller, services: All) -> KnownUser:
    return _user(await services.people.change_role(caller, user_id, body.role))


@routes.delete("/users/{user_id}", status_code=204)
async def remove_user(user_id: Id, caller: Caller, services: All) -> None:
    """Remove somebody, and end their sessions and keys at once."""
    await services.people.remove(caller, user_id)


@routes.get("/audit")
async def read_audit_log(caller: Caller, services: All, cursor: Cursor = None, limit: Limit = DEFAULT) -> AuditLog:
    """Who did what that matters for security, the newest first."""
    page = await services.people.audit_log(caller, cursor=cursor, limit=limit)
    items = [
        AuditEntry(
            at=row.created_at,
            actor_id=row.actor_id,
            actor_name=row.actor_name,
            action=row.action,
            subject=row.subject,
            details=row.details,
        )
        for row in page.items
    ]
    return AuditLog(items=items, next_cursor=page.next_cursor, total=page.total)


def _user(row: UserRow) -> KnownUser:
    return KnownUser(id=row.id, name=row.name, role=cast("Role", row.role), created_at=row.created_at)


def _invitation(invited: Invited) -> Invitation:
    return Invitation(user=_user(invited.user), secret=invited.secret)
