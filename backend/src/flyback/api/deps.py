"""What a route may ask for: who calls, and the services."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Query, Request

from flyback.services.actor import Actor
from flyback.services.container import Services
from flyback.services.pages import DEFAULT_LIMIT, MAX_LIMIT


async def _services(request: Request) -> Services:
    return cast("Services", request.app.state.services)


async def _caller(request: Request) -> Actor:
    return cast("Actor", request.scope["state"]["actor"])


All = Annotated[Services, Depends(_services)]
Caller = Annotated[Actor, Depends(_caller)]
SIGNED_IN = Depends(_caller)
"""For a route that answers everybody who is signed in the same."""

Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Items a page.")]
Cursor = Annotated[str | None, Query(max_length=500, description="`nextCursor` of the page before.")]
DEFAULT = DEFAULT_LIMIT
