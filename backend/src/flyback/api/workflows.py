"""Workflows: drafts, their list, copies, deleting and taking that back."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from flyback.api.deps import DEFAULT, All, Caller, Cursor, Limit
from flyback.api.json_body import router
from flyback.api.payloads import Id, SearchText
from flyback.api.wire.common import Mode
from flyback.api.wire.workflows import (
    DuplicateGiven,
    RunOutcome,
    Workflow,
    WorkflowChanged,
    WorkflowDocument,
    WorkflowPage,
    WorkflowSaved,
    WorkflowSummary,
)
from flyback.domain.graph_file import WorkflowDocument as Document
from flyback.domain.graph_file import read_document
from flyback.domain.json_value import loads
from flyback.domain.run import Mode as RunMode
from flyback.domain.wire import Wire
from flyback.services.workflow import Listed
from flyback.services.workflow import Workflow as Stored
from flyback.storage.workflows import RunOutcomeRow

routes = router(prefix="/api/workflows", tag="workflows")


@routes.get("")
async def list_workflows(
    caller: Caller,
    services: All,
    q: SearchText = None,
    mode: Mode | None = None,
    cursor: Cursor = None,
    limit: Limit = DEFAULT,
) -> WorkflowPage:
    """Your workflows, last changed first, each with how its newest runs ended."""
    wanted = None if mode is None else RunMode(mode)
    page = await services.workflows.page(caller, text=q, mode=wanted, cursor=cursor, limit=limit)
    return WorkflowPage(items=[summary(one) for one in page.items], next_cursor=page.next_cursor, total=page.total)


@routes.post("", status_code=201)
async def create_workflow(body: WorkflowDocument, caller: Caller, services: All, response: Response) -> Workflow:
    """Store a new workflow. Fields that the server owns are ignored, so that what was read can be sent back."""
    stored = await services.workflows.create(caller, read(body))
    response.headers["Location"] = f"/api/workflows/{stored.id}"
    return wire(stored)


@routes.get("/{workflow_id}")
async def read_workflow(workflow_id: Id, caller: Caller, services: All) -> Workflow:
    return wire(await services.workflows.get(caller, workflow_id))


@routes.put("/{workflow_id}")
async def save_workflow(workflow_id: Id, body: WorkflowSaved, caller: Caller, services: All) -> Workflow:
    """Put a whole document in the place of the revision it was made from. An old revision gets 409 with `current`."""
    return wire(await services.workflows.save(caller, workflow_id, read(body), revision=body.revision))


@routes.patch("/{workflow_id}")
async def change_workflow(workflow_id: Id, body: WorkflowChanged, caller: Caller, services: All) -> Workflow:
    """Change the keys given and leave the others."""
    return wire(await services.workflows.change(caller, workflow_id, as_sent(body), revision=body.revision))


@routes.delete("/{workflow_id}", status_code=204)
async def delete_workflow(
    workflow_id: Id, caller: Caller, services: All, cancel_runs: Annotated[bool, Query(alias="cancelRuns")] = False
) -> None:
    """Delete a workflow so that it can be restored. 409 while runs of it are open, unless they are to be cancelled."""
    await services.workflows.delete(caller, workflow_id, cancel_runs=cancel_runs)


@routes.post("/{workflow_id}/restore")
async def restore_workflow(workflow_id: Id, caller: Caller, services: All) -> Workflow:
    """Take a deletion back."""
    return wire(await services.workflows.restore(caller, workflow_id))


@routes.post("/{workflow_id}/duplicate", status_code=201)
async def duplicate_workflow(
    workflow_id: Id, caller: Caller, services: All, body: DuplicateGiven | None = None
) -> Workflow:
    """Make a new workflow from the draft of another."""
    return wire(await services.workflows.duplicate(caller, workflow_id, name=body.name if body else None))


def as_sent(body: WorkflowDocument) -> Wire:
    """The document as it was sent: what was not sent is not there."""
    return body.model_dump(by_alias=True, exclude_unset=True)


def read(body: WorkflowDocument) -> Document:
    return read_document(as_sent(body))


def wire(stored: Stored) -> Workflow:
    return Workflow.model_validate(stored.on_wire())


def summary(one: Listed) -> WorkflowSummary:
    row = one.row
    return WorkflowSummary(
        id=row.id,
        name=row.name,
        description=row.description,
        mode=row.mode.value,
        revision=row.revision,
        node_count=one.nodes,
        edge_count=one.edges,
        published_version=one.version,
        draft_changed=one.draft_changed,
        last_runs=[_outcome(run) for run in one.runs],
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _outcome(row: RunOutcomeRow) -> RunOutcome:
    error = loads(row.error_json) if row.error_json else None
    return RunOutcome.model_validate(
        {
            "runId": row.run_id,
            "status": row.status,
            "mode": row.mode.value,
            "visitCount": row.visit_count,
            "flyBacks": row.fly_backs,
            "errorCode": row.error_code,
            "errorNodeId": error.get("node") if isinstance(error, dict) else None,
            "createdAt": row.created_at,
            "finishedAt": row.finished_at,
        }
    )
