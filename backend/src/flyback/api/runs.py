"""Runs: starting, answering and cancelling them, lists and details, visits, node records, calls, workspaces, differences."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, cast

from fastapi import Depends, Header, Query, Request, Response
from pydantic import JsonValue

from flyback.api.deps import DEFAULT, All, Caller, Cursor, Limit
from flyback.api.event_stream import STREAM_ANSWER, position, stream_events, wants_stream
from flyback.api.json_body import JsonAnswer, router
from flyback.api.wire.common import RunStatus
from flyback.api.wire.runs import (
    CallList,
    Comparison,
    DecisionStatistics,
    ForkGiven,
    NodeRecord,
    NodeTest,
    NodeTestGiven,
    Pause,
    PauseAnswerGiven,
    PauseList,
    RunAccepted,
    RunCancelled,
    RunDetail,
    RunGiven,
    RunPage,
    UnsavedRunGiven,
    Visit,
    VisitPage,
    Workspace,
    WorkspaceDiff,
)
from flyback.api.wire.workflows import ModeGiven
from flyback.domain.answering import Given
from flyback.domain.errors import InvalidError, NotFoundError
from flyback.domain.graph_file import read_budget, read_document
from flyback.domain.json_value import canonical, loads_strict
from flyback.domain.run import Mode as RunMode
from flyback.domain.run import RunId, WorkflowId
from flyback.domain.wire import Wire, time_on_wire
from flyback.services.acceptance import Accepted
from flyback.services.actor import Actor
from flyback.services.comparison import compare
from flyback.services.container import Services
from flyback.services.forks import ForkWish
from flyback.services.pages import Page
from flyback.services.run_views import ALL_EVENTS
from flyback.services.run_waiting import wait_for_end
from flyback.services.runs import RunWish
from flyback.storage.idempotency import IdempotencyKey
from flyback.storage.run_reads import RunFilter

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


@routes.post("/workflows/{workflow_id}/run", status_code=202, responses=STARTED)
async def start_run(
    workflow_id: WorkflowId,
    body: RunGiven,
    request: Request,
    caller: Caller,
    services: All,
    idempotency_key: Key = None,
    wait: Wait = False,
) -> Response:
    """Run a workflow: 202 at once, its events as a stream, or its end, as the caller asks."""
    key = await _key(request, idempotency_key)
    accepted = await services.runs.start(caller, workflow_id, _wish(body), key=key)
    return await _started(request, caller, services, accepted, wait=wait)


@routes.post("/runs", status_code=202, responses=STARTED)
async def start_unsaved_run(
    body: UnsavedRunGiven,
    request: Request,
    caller: Caller,
    services: All,
    idempotency_key: Key = None,
    wait: Wait = False,
) -> Response:
    """Run a graph that is not saved."""
    key = await _key(request, idempotency_key)
    document = read_document(body.workflow.model_dump(mode="json", by_alias=True, exclude_unset=True))
    accepted = await services.runs.start_unsaved(caller, document, _wish(body), key=key)
    return await _started(request, caller, services, accepted, wait=wait)


async def _started(request: Request, caller: Actor, services: Services, accepted: Accepted, *, wait: bool) -> Response:
    location = {"Location": f"/api/runs/{accepted.run_id}"}
    if wants_stream(request):
        return await stream_events(request, caller, services, accepted.run_id, after=0, headers=location)
    if wait:
        detail = await wait_for_end(services.streams, services.run_views, caller, accepted.run_id)
        if detail is not None:
            return JsonAnswer(detail, headers=location)
    return JsonAnswer({"runId": accepted.run_id, "status": accepted.status.value}, 202, headers=location)


async def _key(request: Request, key: str | None) -> IdempotencyKey | None:
    if key is None:
        return None
    if not 0 < len(key) <= _MAX_KEY:
        what = f"An Idempotency-Key has 1 to {_MAX_KEY} characters, this one {len(key)}."
        raise InvalidError(what, field="Idempotency-Key", fix="Send a shorter key, such as a UUID.")
    body = canonical(loads_strict(await request.body()))
    return IdempotencyKey(request.url.path, key, hashlib.sha256(body.encode()).hexdigest())


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


def _filter(
    status: Annotated[list[RunStatus] | None, Query()] = None,
    mode: Annotated[ModeGiven | None, Query()] = None,
    workflow: Annotated[str | None, Query(max_length=64)] = None,
    q: Annotated[str | None, Query(max_length=200, description="Looked for in name, id and error.")] = None,
    parent: Annotated[
        str | None,
        Query(max_length=64, description="Only the sub-runs of this run; without it no sub-runs are listed."),
    ] = None,
    fork_of: Annotated[
        str | None, Query(alias="forkOf", max_length=64, description="Only what was forked from this run.")
    ] = None,
    since: Annotated[str | None, Query(max_length=40, description="ISO-8601.")] = None,
    until: Annotated[str | None, Query(max_length=40, description="ISO-8601, not included.")] = None,
) -> RunFilter:
    return RunFilter(
        status=tuple(status or ()),
        mode=RunMode.read(mode).value if mode is not None else None,
        workflow_id=workflow,
        text=q,
        parent=parent,
        fork_of=fork_of,
        since=_moment(since, "since"),
        until=_moment(until, "until"),
    )


RunIdGiven = Annotated[str, Query(max_length=64, description="A run's id.")]
Wanted = Annotated[RunFilter, Depends(_filter)]


@routes.get("/runs", response_model=RunPage)
async def list_runs(
    caller: Caller, services: All, wanted: Wanted, cursor: Cursor = None, limit: Limit = DEFAULT
) -> Response:
    """All runs, newest first."""
    return _page(await services.run_views.list_runs(caller, wanted, cursor=cursor, limit=limit))


@routes.get("/workflows/{workflow_id}/runs", response_model=RunPage)
async def list_workflow_runs(
    workflow_id: WorkflowId,
    caller: Caller,
    services: All,
    wanted: Wanted,
    cursor: Cursor = None,
    limit: Limit = DEFAULT,
) -> Response:
    """The runs of a workflow, newest first."""
    await services.workflows.get(caller, workflow_id)
    wanted = replace(wanted, workflow_id=workflow_id)
    return _page(await services.run_views.list_runs(caller, wanted, cursor=cursor, limit=limit))


@routes.get("/runs/compare", response_model=Comparison)
async def compare_runs(a: RunIdGiven, b: RunIdGiven, caller: Caller, services: All) -> Response:
    """Two runs side by side: their steps aligned by node, what differs in variables, what each used."""
    return JsonAnswer(await compare(services.run_views, caller, a, b))


@routes.get("/runs/{run_id}", response_model=RunDetail)
@routes.get("/workflows/{workflow_id}/runs/{run_id}", response_model=RunDetail, name="read_workflow_run")
async def read_run(run_id: str, caller: Caller, services: All, workflow_id: str | None = None) -> Response:
    """A run, whole: the graph as it ran, its nodes or visits, its pauses."""
    return JsonAnswer(_of_workflow(await services.run_views.detail(caller, run_id), workflow_id))


@routes.get("/runs/{run_id}/visits", response_model=VisitPage)
@routes.get("/workflows/{workflow_id}/runs/{run_id}/visits", response_model=VisitPage, name="list_workflow_run_visits")
async def list_visits(run_id: str, caller: Caller, services: All, workflow_id: str | None = None) -> Response:
    """Every visit in order; variables and outputs are cut at 64 KiB each and marked."""
    if workflow_id is not None:
        _of_workflow(await services.run_views.detail(caller, run_id), workflow_id)
    return _list(await services.run_views.visits(caller, run_id))


@routes.get("/runs/{run_id}/visits/{visit_id}", response_model=Visit)
async def read_visit(run_id: str, visit_id: str, caller: Caller, services: All) -> Response:
    """One visit with its output whole."""
    return JsonAnswer(await services.run_views.visit(caller, run_id, visit_id))


@routes.get("/runs/{run_id}/nodes/{node_id:path}/calls", response_model=CallList)
async def list_node_calls(run_id: str, node_id: str, caller: Caller, services: All) -> Response:
    """Every model and tool call that a DAG node made."""
    return _list(await services.run_views.node_calls(caller, run_id, node_id))


@routes.get("/runs/{run_id}/nodes/{node_id:path}", response_model=NodeRecord)
async def read_node(run_id: str, node_id: str, caller: Caller, services: All) -> Response:
    """One node of a DAG run with its output whole."""
    return JsonAnswer(await services.run_views.node(caller, run_id, node_id))


@routes.get("/runs/{run_id}/visits/{visit_id}/calls", response_model=CallList)
async def list_visit_calls(run_id: str, visit_id: str, caller: Caller, services: All) -> Response:
    """Every model and tool call made at a visit, the planner's after it included."""
    return _list(await services.run_views.visit_calls(caller, run_id, visit_id))


@routes.get("/runs/{run_id}/visits/{visit_id}/workspace", response_model=Workspace)
async def read_workspace(run_id: str, visit_id: str, caller: Caller, services: All) -> Response:
    """The whole workspace after a visit, however large."""
    return JsonAnswer(await services.run_views.workspace(caller, run_id, visit_id))


@routes.get("/runs/{run_id}/visits/{visit_id}/diff", response_model=WorkspaceDiff)
async def read_diff(
    run_id: str,
    visit_id: str,
    caller: Caller,
    services: All,
    against: Annotated[str | None, Query(max_length=64, description="A visit; missing means the one before.")] = None,
) -> Response:
    """What a visit added and overwrote."""
    return JsonAnswer(await services.run_views.diff(caller, run_id, visit_id, against=against))


@routes.get("/runs/{run_id}/events", responses=STREAM_ANSWER)
async def follow_run(
    run_id: str,
    request: Request,
    caller: Caller,
    services: All,
    after: Annotated[str | None, Query(max_length=40, description="The number of the last event seen.")] = None,
) -> Response:
    """The run's events from a position on, live; the stream of a finished run replays and closes.

    Who accepts only `application/json` gets those that are stored, as a list.
    """
    begin = position(request, after, last=await services.streams.last_event(caller, run_id))
    if request.headers.get("accept") == "application/json":
        return _list(await services.run_views.events(caller, run_id, after=begin, limit=ALL_EVENTS))
    return await stream_events(request, caller, services, RunId(run_id), after=begin)


@routes.post("/runs/{run_id}/cancel")
async def cancel_run(run_id: str, caller: Caller, services: All) -> RunCancelled:
    """Cancel a run. Twice is as well as once: the answer is its status by then."""
    status = await services.runs.cancel(caller, run_id)
    return RunCancelled(run_id=run_id, status=status.value)


@routes.post("/runs/{run_id}/fork", status_code=202, responses=STARTED)
async def fork_run(
    run_id: str,
    body: ForkGiven,
    request: Request,
    caller: Caller,
    services: All,
    idempotency_key: Key = None,
    wait: Wait = False,
) -> Response:
    """Run on from a visit of an AGENTIC run, otherwise than it went: a new run that shares the visits up to there."""
    key = await _key(request, idempotency_key)
    wish = ForkWish(
        visit_id=body.visit_id,
        variables=body.variables or {},
        next=body.next,
        reason=body.reason or "",
        planner_model=body.planner_model_id,
        version=body.version,
    )
    accepted = await services.forks.fork(caller, run_id, wish, key=key)
    return await _started(request, caller, services, accepted, wait=wait)


@routes.get("/runs/{run_id}/pauses", response_model=PauseList)
async def list_run_pauses(run_id: str, caller: Caller, services: All) -> Response:
    """What a run has asked people."""
    return _list(await services.run_views.run_pauses(caller, run_id))


@routes.get("/pauses", response_model=PauseList)
async def list_pauses(
    caller: Caller,
    services: All,
    status: Literal["open", "answered", "expired", "cancelled"] | None = None,
) -> Response:
    """The inbox: what waits for a person over all runs, oldest first."""
    return _list(await services.run_views.pauses(caller, status=status.upper() if status is not None else None))


@routes.get("/pauses/{pause_id}", response_model=Pause)
async def read_pause(pause_id: str, caller: Caller, services: All) -> Response:
    """One question to a person, as it is by now."""
    return JsonAnswer(await services.run_views.pause(caller, pause_id))


@routes.post("/pauses/{pause_id}/answer", response_model=Pause)
async def answer_pause(pause_id: str, body: PauseAnswerGiven, caller: Caller, services: All) -> Response:
    """Answer a question, or say whether a tool may run. The same again is as good as once; another answer is refused and shown the first."""
    return JsonAnswer(await services.runs.answer(caller, pause_id, _given(body)))


@routes.post("/runs/{run_id}/resume", response_model=Pause)
async def resume_run(run_id: str, body: PauseAnswerGiven, caller: Caller, services: All) -> Response:
    """Answer the only open question of a run; where several wait they are listed."""
    return JsonAnswer(await services.runs.answer_only(caller, run_id, _given(body)))


@routes.get("/decisions/stats", response_model=DecisionStatistics)
async def read_decision_statistics(
    caller: Caller, services: All, workflow: Annotated[str | None, Query(max_length=64)] = None
) -> Response:
    """What the decisions of a workflow's runs have in common: jumps by pair, revisits, fallbacks, frequent reasons."""
    return JsonAnswer(await services.run_views.decision_statistics(caller, workflow))


@routes.post("/workflows/{workflow_id}/nodes/{node_id:path}/test", response_model=NodeTest)
async def test_node(
    workflow_id: WorkflowId, node_id: str, body: NodeTestGiven, caller: Caller, services: All
) -> Response:
    """Run one node on variables of one's own or on the workspace of a visit. Nothing of it enters the history."""
    tried = await services.node_tests.run(
        caller, workflow_id, node_id, variables=body.variables, run_id=body.run_id, visit_id=body.visit_id
    )
    return JsonAnswer(tried)


def _given(body: PauseAnswerGiven) -> Given:
    return Given([(one.question_id, one.value) for one in body.answers], body.answer, body.action)


def _page(page: Page[Wire]) -> Response:
    return JsonAnswer({"items": list(page.items), "nextCursor": page.next_cursor, "total": page.total})


def _list(items: Sequence[Wire]) -> Response:
    return JsonAnswer({"items": list(items), "nextCursor": None, "total": len(items)})


def _of_workflow(detail: Wire, workflow_id: str | None) -> Wire:
    if workflow_id is not None and detail["workflowId"] != workflow_id:
        raise NotFoundError(f"The workflow {workflow_id!r} has no run {detail['runId']!r}.")
    return detail


def _moment(text: str | None, field: str) -> str | None:
    """Read a time in any ISO-8601 form and return it as times are stored."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidError(f"{text!r} is no ISO-8601 time.", field=field, fix="Write 2026-01-31T09:30:00Z.") from None
    return time_on_wire(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))
