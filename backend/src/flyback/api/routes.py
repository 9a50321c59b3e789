"""Every router of the API, in the order of its description."""

from __future__ import annotations

from fastapi import APIRouter

from flyback.api import (
    auth,
    mcp_servers,
    models,
    node_tests,
    node_types,
    operations,
    people,
    questions,
    runs,
    samples,
    settings,
    skills,
    starting,
    workflow_files,
    workflow_history,
    workflows,
)

ROUTERS: tuple[APIRouter, ...] = (
    workflow_files.routes,
    workflows.routes,
    workflow_history.routes,
    samples.routes,
    starting.routes,
    node_tests.routes,
    runs.routes,
    questions.routes,
    models.routes,
    skills.routes,
    mcp_servers.routes,
    node_types.routes,
    auth.routes,
    people.routes,
    settings.routes,
    operations.watching,
    operations.routes,
)
