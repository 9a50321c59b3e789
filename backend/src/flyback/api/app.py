"""Puts the HTTP doors together: gates, routes, failures, the page. What they open onto is handed in."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources.abc import Traversable
from pathlib import Path

from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware

from flyback import __version__
from flyback.api import operations
from flyback.api.access import Access
from flyback.api.gates.body import BODY_SECONDS, BodyGate
from flyback.api.gates.caller import CallerGate
from flyback.api.gates.origin import OriginGate
from flyback.api.gates.request import RequestGate
from flyback.api.gates.security_headers import SecurityHeaders
from flyback.api.openapi import TITLE, description_of
from flyback.api.page import Page, built_page
from flyback.api.problems import answer_failures
from flyback.api.routes import ROUTERS
from flyback.api.streams import StreamSlots
from flyback.api.traffic import Traffic
from flyback.services.container import Services


def create_app(
    services: Services,
    *,
    access: Access,
    page: Traversable | Path | None = None,
    body_seconds: float = BODY_SECONDS,
    streams: StreamSlots | None = None,
) -> FastAPI:
    """Return the app. `access` says under which names it is reached, `page` where the built page lies."""
    traffic = Traffic()
    gates = [
        Middleware(SecurityHeaders),
        Middleware(RequestGate, traffic=traffic),
        Middleware(OriginGate, access=access),
        Middleware(BodyGate, body_seconds=body_seconds),
        Middleware(CallerGate, access=access, auth=services.auth),
    ]
    app = _app(services, access, traffic, gates, ROUTERS, streams or StreamSlots())
    app.openapi = lambda: description_of(app)
    app.router.default = Page(page or built_page())
    return app


def create_watch_app(services: Services, *, access: Access) -> FastAPI:
    """Return the door of a worker: whether it is alive and ready, and its numbers, which need a key.

    Whoever watches calls it by an address that the worker cannot know, so the name it is called by is not checked. There is
    nothing behind it that a page in somebody's browser could do: it answers no writing call and sets no cookie.
    """
    traffic = Traffic()
    gates = [
        Middleware(SecurityHeaders),
        Middleware(RequestGate, traffic=traffic),
        Middleware(BodyGate, body_seconds=BODY_SECONDS),
        Middleware(CallerGate, access=access, auth=services.auth),
    ]
    return _app(services, access, traffic, gates, [operations.watching], StreamSlots())


def _app(
    services: Services,
    access: Access,
    traffic: Traffic,
    gates: Sequence[Middleware],
    routers: Sequence[APIRouter],
    streams: StreamSlots,
) -> FastAPI:
    app = FastAPI(
        title=TITLE,
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        middleware=gates,
    )
    app.state.services = services
    app.state.access = access
    app.state.traffic = traffic
    app.state.streams = streams
    for routes in routers:
        app.include_router(routes)
    answer_failures(app)
    return app
