"""Looking at runs: lists and details, visits, node records, calls, workspaces, differences, events. And cancelling one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

from fastapi import Depends, Query, Request, Response

from flyback.api.deps import DEFAULT, All, Caller, Cursor, Limit
from flyback.api.event_stream import STREAM_ANSWER, position, stream_events
from flyback.api.json_body import JsonAnswer, list_answer, router
from flyback.api.wire.common import RunStatus
from flyback.api.wire.runs import (
    CallList,
    Comparison,
    DecisionStatistics,
    NodeRecord,
    RunCancelled,
    RunDetail,
    RunPage,
    Visit,
    VisitPage,
    Workspace,
    WorkspaceDiff,
)
from flyback.api.wire.workflows import ModeGiven
from flyback.domain.errors import InvalidError, NotFoundError
from flyback.domain.run import Mode as RunMode
from flyback.domain.run import RunId, WorkflowId
from flyback.domain.wire import Wire, time_on_wire
from flyback.services.comparison import compare
from flyback.services.pages import Page
from flyback.services.run_views import ALL_EVENTS
from flyback.storage.run_reads import RunFilter

routes = router(prefix="/api", tag="runs")


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
    return list_answer(await services.run_views.visits(caller, run_id))


@routes.get("/runs/{run_id}/visits/{visit_id}", response_model=Visit)
async def read_visit(run_id: str, visit_id: str, caller: Caller, services: All) -> Response:
    """One visit with its output whole."""
    return JsonAnswer(await services.run_views.visit(caller, run_id, visit_id))


@routes.get("/runs/{run_id}/nodes/{node_id:path}/calls", response_model=CallList)
async def list_node_calls(run_id: str, node_id: str, caller: Caller, services: All) -> Response:
    """Every model and tool call that a DAG node made."""
    return list_answer(await services.run_views.node_calls(caller, run_id, node_id))


@routes.get("/runs/{run_id}/nodes/{node_id:path}", response_model=NodeRecord)
async def read_node(run_id: str, node_id: str, caller: Caller, services: All) -> Response:
    """One node of a DAG run with its output whole."""
    return JsonAnswer(await services.run_views.node(caller, run_id, node_id))


@routes.get("/runs/{run_id}/visits/{visit_id}/calls", response_model=CallList)
async def list_visit_calls(run_id: str, visit_id: str, caller: Caller, services: All) -> Response:
    """Every model and tool call made at a visit, the planner's after it included."""
    return list_answer(await services.run_views.visit_calls(caller, run_id, visit_id))


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
        return list_answer(await services.run_views.events(caller, run_id, after=begin, limit=ALL_EVENTS))
    return await stream_events(request, caller, services, RunId(run_id), after=begin)


@routes.post("/runs/{run_id}/cancel")
async def cancel_run(run_id: str, caller: Caller, services: All) -> RunCancelled:
    """Cancel a run. Twice is as well as once: the answer is its status by then."""
    status = await services.runs.cancel(caller, run_id)
    return RunCancelled(run_id=run_id, status=status.value)


@routes.get("/decisions/stats", response_model=DecisionStatistics)
async def read_decision_statistics(
    caller: Caller, services: All, workflow: Annotated[str | None, Query(max_length=64)] = None
) -> Response:
    """What the decisions of a workflow's runs have in common: jumps by pair, revisits, fallbacks, frequent reasons."""
    return JsonAnswer(await services.run_views.decision_statistics(caller, workflow))


def _page(page: Page[Wire]) -> Response:
    return list_answer(page.items, next_cursor=page.next_cursor, total=page.total)


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
