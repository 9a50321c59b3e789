"""The API's description. `python -m flyback.api.openapi > docs/reference/openapi.json` writes it for the front end.

What holds for every call (problem documents, the two ways to sign in) and what no route returns by itself (the events of a
stream) is added here once.
"""

from __future__ import annotations

import json
import sys
from typing import Any, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from flyback import __version__
from flyback.api.problems import MEDIA_TYPE, Problem
from flyback.api.routes import ROUTERS
from flyback.api.wire.events import RunEvent

TITLE = "Flyback"
DESCRIPTION = (
    "Draw, run and understand agent workflows. Errors are problem documents (RFC 9457); lists are cursor pages."
)

_OPEN = frozenset({"/healthz", "/readyz", "/api/auth/sign-in"})
_METHODS = ("get", "post", "put", "patch", "delete")
_REF = "#/components/schemas/{model}"


def description_of(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of an app, the same for the same source."""
    if app.openapi_schema is None:
        document = get_openapi(title=TITLE, version=__version__, description=DESCRIPTION, routes=app.routes)
        _add_shapes(document)
        _add_failures(document)
        document["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
        app.openapi_schema = document
    return app.openapi_schema


def _add_shapes(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    for shape, name in ((TypeAdapter(Problem), "Problem"), (TypeAdapter(RunEvent), "RunEvent")):
        schema = shape.json_schema(ref_template=_REF, mode="serialization")
        schemas.update(schema.pop("$defs", {}))
        schemas[name] = schema


def _add_failures(document: dict[str, Any]) -> None:
    failure = {
        "description": "What went wrong.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": _REF.format(model="Problem")}}},
    }
    for path, operations in cast("dict[str, dict[str, Any]]", document["paths"]).items():
        for method in _METHODS:
            if method not in operations:
                continue
            operations[method]["responses"].pop("422", None)
            operations[method]["responses"]["default"] = failure
            if path not in _OPEN:
                operations[method]["security"] = [{"bearer": []}]


def describe() -> str:
    """Return the description as the text of its file."""
    app = FastAPI(generate_unique_id_function=lambda route: route.name)
    for routes in ROUTERS:
        app.include_router(routes)
    return json.dumps(description_of(app), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(describe())
