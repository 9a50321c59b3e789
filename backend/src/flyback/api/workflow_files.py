"""Workflows as files: check, export, import."""

from __future__ import annotations

import re
from urllib.parse import quote

from fastapi import Request

from flyback.api.deps import All, Caller
from flyback.api.json_body import JsonAnswer, router
from flyback.api.payloads import Id
from flyback.api.uploads import body_of, file_of
from flyback.api.wire.workflows import Check, CheckFault, Imported, ImportNote, ImportReport, WorkflowDocument
from flyback.api.workflows import read, wire
from flyback.domain.errors import Fault
from flyback.services.workflow_files import Imported as Stored
from flyback.storage.workflows import size_of

routes = router(prefix="/api/workflows", tag="workflows")

_IMPORT_BODY = body_of(application_json={"schema": {"$ref": "#/components/schemas/WorkflowDocument"}})


@routes.post("/validate")
async def check_workflow(body: WorkflowDocument, caller: Caller, services: All) -> Check:
    """Check a graph without saving it. Answers 200 also for a graph with faults."""
    found = await services.files.check(caller, read(body))
    return Check(
        valid=not found.errors,
        errors=[_fault(fault) for fault in found.errors],
        warnings=[_fault(fault) for fault in found.warnings],
        levels=[[str(node_id) for node_id in level] for level in found.levels],
    )


@routes.get("/{workflow_id}/export", responses={200: {"model": WorkflowDocument}})
async def export_workflow(workflow_id: Id, caller: Caller, services: All) -> JsonAnswer:
    """The workflow as a graph file, to be saved. Without secrets."""
    name, content = await services.files.export(caller, workflow_id)
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "workflow"
    disposition = f"attachment; filename=\"{plain}.json\"; filename*=UTF-8''{quote(name, safe='')}.json"
    return JsonAnswer(content, headers={"Content-Disposition": disposition})


@routes.post("/import", status_code=201, openapi_extra=_IMPORT_BODY)
async def import_workflow(request: Request, caller: Caller, services: All) -> Imported:
    """Make a workflow from a graph file, sent as it is or as the form field `file`. The report says what a check found."""
    is_form = request.headers.get("content-type", "").startswith("multipart/")
    content = await file_of(request) if is_form else await request.body()
    return _imported(await services.files.import_file(caller, content))


def _imported(stored: Stored) -> Imported:
    nodes, edges = size_of(stored.workflow.document.graph_data)
    notes = [ImportNote(level=note.level, **_fault(note.fault).model_dump()) for note in stored.notes]
    return Imported(
        workflow=wire(stored.workflow), report=ImportReport(format="flyback", nodes=nodes, edges=edges, notes=notes)
    )


def _fault(fault: Fault) -> CheckFault:
    return CheckFault(node=fault.node, field=fault.field, message=fault.message, fix=fault.fix)
