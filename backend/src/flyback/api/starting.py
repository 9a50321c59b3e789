"""Starting runs: of a workflow, of a graph that is not saved, from a visit of another run."""

from __future__ import annotations

from typing import cast

from fastapi import Response
from pydantic import JsonValue

from flyback.api.deps import All, Caller
from flyback.api.json_body import router
from flyback.api.starter import STARTED, Starts
from flyback.api.wire.runs import ForkGiven, RunGiven, UnsavedRunGiven
from flyback.domain.graph_file import read_budget, read_document
from flyback.domain.run import Mode as RunMode
from flyback.domain.run import WorkflowId
from flyback.services.forks import ForkWish
from flyback.services.runs import RunWish

routes = router(prefix="/api", tag="runs")


@routes.post("/workflows/{workflow_id}/run", status_code=202, responses=STARTED)
async def start_run(workflow_id: WorkflowId, body: RunGiven, caller: Caller, services: All, by: Starts) -> Response:
    """Run a workflow: 202 at once, its events as a stream, or its end, as the caller asks."""
    return await by.told(await services.runs.start(caller, workflow_id, _wish(body), key=await by.key()))


@routes.post("/runs", status_code=202, responses=STARTED)
async def start_unsaved_run(body: UnsavedRunGiven, caller: Caller, services: All, by: Starts) -> Response:
    """Run a graph that is not saved."""
    key = await by.key()
    document = read_document(body.workflow.model_dump(mode="json", by_alias=True, exclude_unset=True))
    return await by.told(await services.runs.start_unsaved(caller, document, _wish(body), key=key))


@routes.post("/runs/{run_id}/fork", status_code=202, responses=STARTED)
async def fork_run(run_id: str, body: ForkGiven, caller: Caller, services: All, by: Starts) -> Response:
    """Run on from a visit of an AGENTIC run, otherwise than it went: a new run that shares the visits up to there."""
    wish = ForkWish(
        visit_id=body.visit_id,
        variables=body.variables or {},
        next=body.next,
        reason=body.reason or "",
        planner_model=body.planner_model_id,
        version=body.version,
    )
    return await by.told(await services.forks.fork(caller, run_id, wish, key=await by.key()))


def _wish(body: RunGiven) -> RunWish:
    return RunWish(
        inputs=body.inputs,
        queued_inputs=cast("JsonValue", body.queued_inputs),
        version=body.version,
        mode=RunMode.read(body.mode) if body.mode is not None else None,
        model=body.model,
        budget=read_budget(
            body.budget.model_dump(by_alias=True, exclude_none=True) if body.budget is not None else None
        ),
    )
