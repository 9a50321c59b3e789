"""Spans of runs, for OpenTelemetry: a run, in it its visits or nodes, in those model and tool calls and runs inside it.

Nothing of this is loaded unless a standard variable names where spans go (`OTEL_EXPORTER_OTLP_ENDPOINT` or
`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`); everything else is set by the variables of OpenTelemetry's own too. What was said is
in no span: neither prompts nor answers nor inputs. A span belongs to one drive: a run that another process goes on with
has a second one, with the same `flyback.run_id`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from flyback.domain.errors import InvalidError
from flyback.domain.run import ErrorInfo, RunId, StepStatus
from flyback.engine.log import CallRecord, Commit, Inside, RunState
from flyback.engine.watch import Watch

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_SERVICE = "flyback"
_CLOSE_MS = 5_000


class _Run:
    def __init__(self, span: Span) -> None:
        self.span = span
        self.steps: dict[str, Span] = {}
        """By visit, in DAG mode by node."""


class Traces(Watch):
    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer(_SERVICE)
        self._runs: dict[RunId, _Run] = {}

    @classmethod
    def open(cls, environment: Mapping[str, str]) -> Traces | None:
        """Set up what the environment asks for; None where it asks for nothing.

        Raises:
            InvalidError: it asks, and the packages are not installed.
        """
        if environment.get("OTEL_SDK_DISABLED", "").lower() == "true" or not any(map(environment.get, ENDPOINTS)):
            return None
        try:
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import SERVICE_NAME, Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
        except ImportError as error:
            raise InvalidError(
                "Traces are asked for, and OpenTelemetry's exporter is not installed.",
                field=ENDPOINTS[0],
                fix="Install flyback[telemetry], or leave the variable out.",
            ) from error
        provider = TracerProvider(resource=Resource.create({} if _is_named(environment) else {SERVICE_NAME: _SERVICE}))
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        return cls(provider)

    def close(self) -> None:
        """Send what is left. It may take some seconds."""
        self._provider.force_flush(_CLOSE_MS)
        self._provider.shutdown()

    def taken_over(self, state: RunState) -> None:
        span = self._tracer.start_span(
            "run",
            context=self._around(state.inside),
            attributes={
                "flyback.run_id": state.run_id,
                "flyback.workflow_id": state.workflow_id or "",
                "flyback.mode": state.mode.value,
                "flyback.epoch": state.epoch,
            },
        )
        self._runs[state.run_id] = _Run(span)

    def _around(self, inside: Inside | None) -> Context | None:
        """The step of another run that this run is inside of; None where it is in none."""
        outer = None if inside is None else self._runs.get(inside.parent_run_id)
        if inside is None or outer is None:
            return None
        return _under(outer.steps.get(inside.visit_id or inside.node_id, outer.span))

    def committed(self, commit: Commit) -> None:
        run = self._runs.get(commit.run_id)
        if run is None:
            return
        for visit in (commit.visit, commit.started):
            if visit is not None:
                self._step(
                    run, commit.run_id, visit.visit_id, visit.node_id, visit.node_type, visit.status, visit.error
                )
        for node in commit.nodes:
            self._step(run, commit.run_id, node.node_id, node.node_id, node.node_type, node.status, node.error)
        if commit.end is not None:
            run.span.set_attribute("flyback.status", commit.end.status.value)
            _mark(run.span, commit.end.error)

    def called(self, run_id: RunId, call: CallRecord) -> None:
        run = self._runs.get(run_id)
        if run is None:
            return
        # The planner is asked between two visits, and already while the first of them is being stored.
        place = None if call.role == "planner" else run.steps.get(call.visit_id or call.node_id)
        ended = _nanoseconds(call.created_at)
        span = self._tracer.start_span(
            f"{'model' if call.role == 'node' else call.role} {call.name}",
            context=_under(run.span if place is None else place),
            start_time=ended - call.latency_ms * 1_000_000,
            attributes={
                "flyback.run_id": run_id,
                "flyback.node_id": call.node_id,
                "flyback.visit_id": call.visit_id or "",
                "flyback.attempt": call.attempt,
                **_kind_attributes(call),
            },
        )
        _mark(span, call.error)
        span.end(ended)

    def let_go(self, run_id: RunId) -> None:
        run = self._runs.pop(run_id, None)
        if run is None:
            return
        for span in run.steps.values():
            span.end()
        run.span.end()

    def _step(
        self,
        run: _Run,
        run_id: RunId,
        place: str,
        node_id: str,
        node_type: str,
        status: StepStatus,
        error: ErrorInfo | None,
    ) -> None:
        span = run.steps.get(place)
        if span is None:
            span = self._tracer.start_span(
                f"{node_type} {node_id}",
                context=_under(run.span),
                attributes={"flyback.run_id": run_id, "flyback.node_id": node_id, "flyback.visit_id": place},
            )
            run.steps[place] = span
        if status in (StepStatus.RUNNING, StepStatus.PAUSED):
            return
        span.set_attribute("flyback.status", status.value)
        _mark(span, error)
        span.end()
        del run.steps[place]


def _kind_attributes(call: CallRecord) -> Mapping[str, str | int]:
    """By the names that OpenTelemetry gives to calls of models and tools."""
    if call.kind == "tool":
        return {"gen_ai.tool.name": call.name}
    return {
        "gen_ai.request.model": call.name,
        "gen_ai.response.model": call.model or "",
        "gen_ai.usage.input_tokens": call.usage.input_tokens,
        "gen_ai.usage.output_tokens": call.usage.output_tokens,
    }


def _under(parent: Span) -> Context:
    from opentelemetry.trace import set_span_in_context

    return set_span_in_context(parent)


def _mark(span: Span, error: ErrorInfo | None) -> None:
    if error is None:
        return
    from opentelemetry.trace import StatusCode

    span.set_attribute("error.type", error.code)
    span.set_status(StatusCode.ERROR)


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000) * 1_000


def _is_named(environment: Mapping[str, str]) -> bool:
    return bool(
        environment.get("OTEL_SERVICE_NAME") or "service.name" in environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
    )
