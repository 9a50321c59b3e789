"""The API's description: current, complete, and no input of its shape or another breaks a call."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fastapi.routing import APIRoute

from flyback.api.openapi import describe, description_of
from flyback.api.problems import STATUS
from flyback.api.routes import ROUTERS
from flyback.domain import errors
from flyback.domain.errors import FlybackError, NodeError
from kit.door import Door

_WRITTEN = Path(__file__).parents[3] / "docs" / "reference" / "openapi.json"


def test_the_written_description_is_current() -> None:
    hint = "run: python -m flyback.api.openapi > docs/reference/openapi.json"
    assert _WRITTEN.read_text(encoding="utf-8") == describe(), hint


async def test_the_server_describes_itself_the_same_way(door: Door) -> None:
    assert (await door.key.get("/openapi.json")).json() == description_of(door.app)


def test_every_call_has_a_name_of_its_own_and_says_how_it_fails() -> None:
    routes = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    names = [route.name for route in routes]
    assert len(names) == len(set(names))


def test_every_reference_of_the_description_leads_somewhere() -> None:
    text = describe()
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', text))
    document: dict[str, Any] = __import__("json").loads(text)
    assert named <= set(document["components"]["schemas"])


def test_every_code_of_a_refused_request_has_its_status() -> None:
    refusals = {cls.code for cls in _below(FlybackError) if not issubclass(cls, NodeError)}
    ends_of_a_run = {
        "NODE_FAILED",
        "NO_OUTPUT",
        "MAX_VISITS_EXCEEDED",
        "BUDGET_EXCEEDED",
        "RUN_TIMEOUT",
        "EVENT_LIMIT",
        "RECOVERY_EXHAUSTED",
        "STATE_CORRUPT",
    }
    at_start = {"DATABASE_NEWER", "DATA_FOLDER_HELD", "DATA_FOLDER_UNUSABLE", "SECRET_KEY_MISSING"}
    at_the_command_line = {"REMOTE"}
    assert refusals - set(STATUS) - ends_of_a_run - at_start - at_the_command_line == set()
    assert errors.RevisionConflictError.code == "REVISION_CONFLICT"


def _below(cls: type[FlybackError]) -> set[type[FlybackError]]:
    return {cls}.union(*(_below(sub) for sub in cls.__subclasses__()))
