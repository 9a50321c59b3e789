"""Starting runs: of a workflow, of a graph that is not saved, from a visit of another run; and trying one node."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated, Any, cast

from fastapi import Depends, Header, Query, Request, Response
from pydantic import JsonValue

from flyback.api.deps import All, Caller
from flyback.api.event_stream import stream_events, wants_stream
from flyback.api.json_body import JsonAnswer, router
from flyback.api.wire.runs import ForkGiven, NodeTest, NodeTestGiven, RunAccepted, RunDetail, RunGiven, UnsavedRunGiven
from flyback.domain.errors import InvalidError
from flyback.domain.graph_file import read_budget, read_document
from flyback.domain.json_value import canonical, loads_strict
from flyback.domain.run import Mode as RunMode
from flyback.domain.run import WorkflowId
from flyback.services.acceptance import Accepted
from flyback.services.forks import ForkWish
from flyback.services.run_waiting import wait_for_end
from flyback.services.runs import RunWish
from flyback.storage.idempotency import IdempotencyKey

routes = router(prefix="/api", tag="runs")

_MAX_KEY = 200
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Names the run: a repeat within 24 h starts nothing and is told the same run.",
    ),
]
Wait = Annotated[bool, Query(description="Answer at the run's end or at a pause, or after 60 s as without it.")]
STARTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": RunDetail,
        "description": "With `wait`: the run at its end or at a pause. Or its events, as a stream.",
    },
    202: {"model": RunAccepted},
}


@dataclass(frozen=True, slots=True)
class Starter:
    """Who starts a run, under which key, and how they want to be told of it: at once, by its events, or at its end."""

    request: Request
    caller: Caller
    services: All
    idempotency_key: Key = None
    wait: Wait = False

    async def key(self) -> IdempotencyKey | None:
        """Return the key with what it stands for: the same key for another body is refused. Raises InvalidError."""
        key = self.idempotency_key
        if key is None:
            return None
        if not 0 < len(key) <= _MAX_KEY:
            what = f"An Idempotency-Key has 1 to {_MAX_KEY} characters, this one {len(key)}."
            raise InvalidError(what, field="Idempotency-Key", fix="Send a shorter key, such as a UUID.")
        body = canonical(loads_strict(await self.request.body()))
        return IdempotencyKey(self.request.url.path, key, hashlib.sha256(body.encode()).hexdigest())

    async def told(self, accepted: Accepted) -> Response:
        """Return the answer that the caller wants: 202 at once, the run at its end or at a pause, or its events."""
        location = {"Location": f"/api/runs/{accepted.run_id}"}
        caller, services = self.caller, self.services
        if wants_stream(self.request):
            return await stream_events(self.request, caller, services, accepted.run_id, after=0, headers=location)
        if self.wait:
            detail = await wait_for_end(services.streams, services.run_views, caller, accepted.run_id)
            if detail is not None:
                return JsonAnswer(detail, headers=location)
        return JsonAnswer({"runId": accepted.run_id, "status": accepted.status.value}, 202, headers=location)


Starts = Annotated[Starter, Depends()]


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


@routes.post("/workflows/{workflow_id}/nodes/{node_id:path}/test", response_model=NodeTest)
async def test_node(
    workflow_id: WorkflowId, node_id: str, body: NodeTestGiven, caller: Caller, services: All
) -> Response:
    """Run one node on variables of one's own or on the workspace of a visit. Nothing of it enters the history."""
    tried = await services.node_tests.run(
        caller, workflow_id, node_id, variables=body.variables, run_id=body.run_id, visit_id=body.visit_id
    )
    return JsonAnswer(tried)


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
