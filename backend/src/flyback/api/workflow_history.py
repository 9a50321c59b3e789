"""Restore points of a draft, and published versions."""

from __future__ import annotations

from fastapi import Response

from flyback.api.deps import DEFAULT, All, Caller, Cursor, Limit
from flyback.api.json_body import router
from flyback.api.payloads import Id, PathNumber
from flyback.api.wire.workflows import (
    RestorePoint,
    RestorePointDocument,
    RestorePointNamed,
    RestorePointPage,
    Version,
    VersionGiven,
    VersionPage,
    VersionSummary,
    Workflow,
)
from flyback.api.workflows import wire
from flyback.services.workflow import RestorePoint as Point
from flyback.services.workflow import Version as Published
from flyback.storage.workflows import size_of

routes = router(prefix="/api/workflows/{workflow_id}", tag="workflows")


@routes.get("/revisions")
async def list_restore_points(
    workflow_id: Id, caller: Caller, services: All, cursor: Cursor = None, limit: Limit = DEFAULT
) -> RestorePointPage:
    """What the draft was before, newest first."""
    page = await services.history.restore_points(caller, workflow_id, cursor=cursor, limit=limit)
    return RestorePointPage(items=[_point(one) for one in page.items], next_cursor=page.next_cursor, total=page.total)


@routes.post("/revisions", status_code=201)
async def keep_restore_point(workflow_id: Id, body: RestorePointNamed, caller: Caller, services: All) -> RestorePoint:
    """Keep the draft as it is now, under a note."""
    return _point(await services.history.keep(caller, workflow_id, note=body.note))


@routes.get("/revisions/{revision}")
async def read_restore_point(
    workflow_id: Id, revision: PathNumber, caller: Caller, services: All
) -> RestorePointDocument:
    point = await services.history.restore_point(caller, workflow_id, revision)
    return RestorePointDocument(
        revision=point.revision,
        note=point.note,
        created_at=point.created_at,
        workflow=Workflow.model_validate(point.workflow),
    )


@routes.post("/revisions/{revision}/restore")
async def go_back_to_restore_point(workflow_id: Id, revision: PathNumber, caller: Caller, services: All) -> Workflow:
    """Make a restore point the draft again. The draft that it replaces becomes a restore point itself."""
    return wire(await services.history.go_back(caller, workflow_id, revision))


@routes.get("/versions")
async def list_versions(
    workflow_id: Id, caller: Caller, services: All, cursor: Cursor = None, limit: Limit = DEFAULT
) -> VersionPage:
    """Published versions, newest first."""
    page = await services.history.versions(caller, workflow_id, cursor=cursor, limit=limit)
    return VersionPage(items=[_version(one) for one in page.items], next_cursor=page.next_cursor, total=page.total)


@routes.post("/versions", status_code=201)
async def publish_version(
    workflow_id: Id, caller: Caller, services: All, response: Response, body: VersionGiven | None = None
) -> Version:
    """Publish the draft as the next version, which never changes again."""
    given = body or VersionGiven()
    published = await services.history.publish(caller, workflow_id, note=given.note, revision=given.revision)
    response.headers["Location"] = f"/api/workflows/{workflow_id}/versions/{published.version}"
    return _whole(published)


@routes.get("/versions/{version}")
async def read_version(workflow_id: Id, version: PathNumber, caller: Caller, services: All) -> Version:
    return _whole(await services.history.version(caller, workflow_id, version))


def _point(point: Point) -> RestorePoint:
    workflow = Workflow.model_validate(point.workflow)
    nodes, edges = size_of(workflow.graph_data)
    return RestorePoint(
        revision=point.revision,
        note=point.note,
        name=workflow.name,
        mode=workflow.mode,
        node_count=nodes,
        edge_count=edges,
        created_at=point.created_at,
    )


def _version(published: Published) -> VersionSummary:
    nodes, edges = size_of(published.document.graph_data)
    return VersionSummary(
        workflow_id=published.workflow_id,
        version=published.version,
        mode=published.mode.value,
        note=published.note,
        node_count=nodes,
        edge_count=edges,
        published_at=published.published_at,
    )


def _whole(published: Published) -> Version:
    workflow = Workflow.model_validate(published.workflow)
    return Version(**_version(published).model_dump(), graph_data=workflow.graph_data, workflow=workflow)
