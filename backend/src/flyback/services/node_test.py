"""Trying one node: on variables of one's own, or on the workspace of a visit. Nothing of it enters the history."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from pydantic import JsonValue
from sqlalchemy import Connection

from flyback.domain.errors import InputRequiredError, InvalidError, NotFoundError
from flyback.domain.graph import Graph, Node, NodeId
from flyback.domain.graph_file import WorkflowDocument, read_graph
from flyback.domain.redaction import Redactor
from flyback.domain.run import ErrorInfo, RunId, RunUsage, StepStatus, WorkflowId
from flyback.domain.wire import Wire, error_on_wire, time_on_wire, usage_on_wire
from flyback.domain.workspace import Workspace
from flyback.engine.calls import Meter
from flyback.engine.closed import Unwatched
from flyback.engine.execute import FailedAttempt, NodeRunner
from flyback.engine.log import CallRecord, RunOptions, RunState
from flyback.engine.node_context import Place
from flyback.engine.nodes.base import node_types
from flyback.engine.outcome import NodeOutcome
from flyback.engine.parts import Engine
from flyback.services.actor import Actor
from flyback.services.runs import default_model
from flyback.services.settings import read_settings
from flyback.services.workflows import find_workflow
from flyback.storage import run_reads
from flyback.storage.database import Database


class NodeTests:
    def __init__(
        self, database: Database, engine: Engine, *, redactor: Redactor, embedded_is_ready: Callable[[], bool]
    ) -> None:
        self._database = database
        self._engine = replace(engine, live=Unwatched())
        self._redactor = redactor
        self._embedded_is_ready = embedded_is_ready

    async def run(
        self,
        actor: Actor,
        workflow_id: WorkflowId,
        node_id: str,
        *,
        variables: Mapping[str, JsonValue] | None,
        run_id: str | None,
        visit_id: str | None,
    ) -> Wire:
        """Execute a node of the saved draft once, retries included, and return what came of it and its calls, without secrets.

        Raises:
            NotFoundError: no such workflow, node, run or visit.
            InvalidError: the node only stands in the drawing, or `runId` came without `visitId`.
            BudgetExceededError, RunTimeoutError.
        """

        def read(conn: Connection) -> RunState:
            document = find_workflow(conn, actor.owner_id, workflow_id).document
            given = _variables(conn, actor, variables, run_id, visit_id)
            return self._state(conn, actor, workflow_id, document, given)

        state = await self._database.read(read)
        node = _runnable(state.graph, node_id)
        earlier: list[CallRecord] = []

        async def keep(attempt: FailedAttempt) -> None:
            earlier.extend(attempt.calls)

        runner = NodeRunner(state, self._engine, Meter(state, self._engine))
        outcome = await runner.run(node, Place(Workspace.of_inputs(state.inputs)), keep)
        return self._redactor.values(_tried(node, outcome, [*earlier, *outcome.calls]))

    def _state(
        self,
        conn: Connection,
        actor: Actor,
        workflow_id: WorkflowId,
        document: WorkflowDocument,
        inputs: Mapping[str, JsonValue],
    ) -> RunState:
        """Return a run of the draft that stands in no table."""
        graph, _ = read_graph(dict(document.graph_data))
        settings = read_settings(conn, actor.owner_id)
        model = default_model(document, settings, embedded_is_ready=self._embedded_is_ready())
        return RunState(
            run_id=RunId(self._engine.ids.new()),
            owner_id=actor.owner_id,
            workflow_id=workflow_id,
            mode=document.mode,
            graph=graph,
            inputs=inputs,
            options=RunOptions(default_model=model, script=document.script),
            epoch=0,
            step=0,
            usage=RunUsage(),
        )


def _variables(
    conn: Connection, actor: Actor, variables: Mapping[str, JsonValue] | None, run_id: str | None, visit_id: str | None
) -> Mapping[str, JsonValue]:
    if (run_id is None) != (visit_id is None):
        raise InvalidError(
            "A visit is named by its run and its own id.", field="visitId", fix="Send both `runId` and `visitId`."
        )
    if run_id is None or visit_id is None:
        return variables or {}
    found = run_reads.find(conn, actor.owner_id, run_id)
    return {**run_reads.workspace_of(conn, found, visit_id), **(variables or {})}


def _runnable(graph: Graph, node_id: str) -> Node:
    node = graph.nodes.get(NodeId(node_id))
    if node is None:
        raise NotFoundError(
            f"The workflow has no node {node_id!r}.", node=node_id, fix="Save the draft, then try again."
        )
    kind = node_types().get(node.type)
    if kind is None or not kind.runs:
        what = f"A {node.type!r} node cannot run."
        raise InvalidError(what, node=node_id, fix="Test a node whose type is installed and does something.")
    return node


def _tried(node: Node, outcome: NodeOutcome, calls: Sequence[CallRecord]) -> Wire:
    asks = outcome.ask is not None
    error = _asks(node.id) if asks else outcome.error
    return {
        "status": (StepStatus.FAILED if asks else outcome.status).value,
        "output": outcome.envelope.on_wire() if outcome.envelope is not None else None,
        "error": error_on_wire(error) if error is not None else None,
        "inputs": dict(outcome.inputs),
        "usage": usage_on_wire(outcome.usage),
        "attempts": outcome.attempts,
        "calls": [_call(call) for call in calls],
    }


def _asks(node_id: str) -> ErrorInfo:
    return InputRequiredError(
        f"node {node_id!r} asks a person, and nobody is asked in a test",
        node=node_id,
        fix="Run the workflow to answer it, or give what it asks for among the variables.",
    ).info


def _call(call: CallRecord) -> JsonValue:
    return {
        "nodeId": call.node_id,
        "visitId": call.visit_id,
        "role": "node" if call.role == "tool" else call.role,
        "n": call.n,
        "kind": call.kind,
        "name": call.name,
        "request": call.request,
        "response": call.response,
        "attempt": call.attempt,
        "usage": cast("JsonValue", usage_on_wire(call.usage)),
        "latencyMs": call.latency_ms,
        "model": call.model,
        "finishReason": call.finish_reason,
        "error": cast("JsonValue", error_on_wire(call.error)) if call.error is not None else None,
        "createdAt": time_on_wire(call.created_at),
    }
