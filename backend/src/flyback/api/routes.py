"""Every router of the API, in the order of its description."""

from __future__ import annotations

from fastapi import APIRouter

from flyback.api import (
    auth,
    mcp_servers,
    models,
    node_types,
    operations,
    people,
    runs,
    samples,
    settings,
    skills,
    workflow_files,
    workflow_history,
    workflows,
)

ROUTERS: tuple[APIRouter, ...] = (
    workflow_files.routes,
    workflows.routes,
    workflow_history.routes,
    samples.routes,
    runs.routes,
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
