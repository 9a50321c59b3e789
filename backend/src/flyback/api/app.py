"""Puts the HTTP door together: gates, routes, failures, the page. What it opens onto is handed in."""

from __future__ import annotations

from importlib.resources.abc import Traversable
from pathlib import Path

from fastapi import FastAPI
from starlette.middleware import Middleware

from flyback import __version__
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
    app = FastAPI(
        title=TITLE,
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        middleware=[
            Middleware(SecurityHeaders),
            Middleware(RequestGate, traffic=traffic),
            Middleware(OriginGate, access=access),
            Middleware(BodyGate, body_seconds=body_seconds),
            Middleware(CallerGate, access=access, auth=services.auth),
        ],
    )
    app.openapi = lambda: description_of(app)
    app.state.services = services
    app.state.access = access
    app.state.traffic = traffic
    app.state.streams = streams or StreamSlots()
    for routes in ROUTERS:
        app.include_router(routes)
    app.router.default = Page(page or built_page())
    answer_failures(app)
    return app
