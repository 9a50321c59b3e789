"""What operators see of a run: numbers, spans at an OTLP endpoint, and log lines that say which run they belong to."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import logging
import os
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry
from pydantic import JsonValue

from flyback.dispatch.local import LocalDispatcher
from flyback.domain.errors import InvalidError
from flyback.domain.graph import Graph
from flyback.domain.run import RunId
from flyback.engine.watch import Watch, Watches
from flyback.main.logs import JsonFormatter, TextFormatter, begin_log
from flyback.providers.scripted import MemoryJournal
from flyback.providers.telemetry.metrics import Metrics
from flyback.providers.telemetry.traces import Traces
from flyback.storage.database import Database
from kit.databases import new_url, opened
from kit.drawing import draw
from kit.durable import Workshop, new_run
from kit.studio import script_of
from kit.web_server import Answer, web_server

RUN = RunId("run-1")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Database]:
    async with opened(new_url("sqlite", tmp_path)) as database:
        yield database


async def _run(database: Database, watch: Watch, *, mode: str = "AGENTIC") -> None:
    graph = draw("ask -> draft -> answer", ask={"variables": [{"name": "topic"}]}, draft={"retry": {"maxAttempts": 2}})
    replies: list[dict[str, JsonValue]] = [{"httpError": 503}, {"text": "one", "delayMs": 2}]
    await _drive(
        database,
        watch,
        graph,
        mode,
        script_of(graph, ["draft", "answer"] if mode == "AGENTIC" else None, {"draft": replies}),
    )


async def _drive(database: Database, watch: Watch, graph: Graph, mode: str, script: JsonValue) -> None:
    given: dict[str, JsonValue] = {
        "id": RUN,
        "mode": mode,
        "graph": dict(graph.document),
        "inputs": {"topic": "tides"},
        "script": script,
    }
    workshop = Workshop.on(database, MemoryJournal(), watch=watch)
    dispatcher = LocalDispatcher(workshop.engine, workshop.ledger)
    await database.write(lambda conn: workshop.ledger.accept_in(conn, new_run(given)))
    await dispatcher.launch(RUN, 0)
    await dispatcher.finished(RUN)


def _value(registry: CollectorRegistry, name: str, **labels: str) -> float:
    return registry.get_sample_value(name, labels) or 0


async def test_calls_tokens_ends_and_commits_are_counted(database: Database) -> None:
    metrics = Metrics()
    database.watch_commits(metrics.stored)
    await _run(database, metrics)
    count = "flyback_model_call_seconds_count"
    assert _value(metrics.registry, count, model="scripted", role="node", outcome="ok") == 1
    assert _value(metrics.registry, count, model="scripted", role="node", outcome="MODEL_UNAVAILABLE") == 1
    assert _value(metrics.registry, count, model="scripted", role="planner", outcome="ok") >= 1
    assert _value(metrics.registry, "flyback_model_tokens_total", model="scripted", direction="output") > 0
    assert _value(metrics.registry, "flyback_runs_ended_total", status="SUCCESS") == 1
    assert _value(metrics.registry, "flyback_driven_runs") == 0
    members = _value(metrics.registry, "flyback_commit_members_sum")
    assert members >= _value(metrics.registry, "flyback_commit_seconds_count") > 5


@pytest.mark.parametrize("mode", ["AGENTIC", "DAG"])
async def test_a_run_its_steps_and_their_calls_are_spans_inside_each_other(mode: str, database: Database) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    await _run(database, Traces(provider), mode=mode)
    spans = exporter.get_finished_spans()
    (run,) = _named(spans, "run")
    steps = [span for name in ("userInput ask", "llm draft", "output answer") for span in _named(spans, name)]
    assert [_parent(span, spans) for span in steps] == [run] * 3
    failed, answered = _named(spans, "model scripted")
    assert (_parent(failed, spans), _parent(answered, spans)) == (steps[1], steps[1])
    assert [(span.attributes or {}).get("error.type") for span in (failed, answered)] == ["MODEL_UNAVAILABLE", None]
    assert [_parent(span, spans) for span in _named(spans, "planner scripted")] == [run] * (
        2 if mode == "AGENTIC" else 0
    )
    assert all((span.attributes or {})["flyback.run_id"] == RUN for span in spans)
    assert "tides" not in "".join(span.to_json() for span in spans)


async def test_a_run_inside_a_run_is_a_span_in_the_step_that_began_it_and_counts_as_no_run_of_its_own(
    database: Database,
) -> None:
    exporter, metrics = InMemorySpanExporter(), Metrics()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    inner = draw("ask -> out", ask={"variables": [{"name": "word"}]}, out={"template": "{{word}}!"})
    call: dict[str, JsonValue] = {
        "type": "workflow",
        "workflow": {"name": "inner", "mode": "DAG", "graphData": dict(inner.document)},
        "inputs": {"word": "{{topic}}"},
    }
    graph = draw("ask -> inner -> answer", ask={"variables": [{"name": "topic"}]}, inner=call)
    await _drive(database, Watches([Traces(provider), metrics]), graph, "DAG", None)
    spans = exporter.get_finished_spans()
    outer, within = _named(spans, "run")
    assert _parent(outer, spans) is None
    assert [_parent(within, spans)] == _named(spans, "workflow inner")
    assert _value(metrics.registry, "flyback_runs_ended_total", status="SUCCESS") == 1


def _named(spans: Sequence[ReadableSpan], name: str) -> list[ReadableSpan]:
    return sorted((span for span in spans if span.name == name), key=lambda span: span.start_time or 0)


def _parent(span: ReadableSpan, spans: Sequence[ReadableSpan]) -> ReadableSpan | None:
    return next(
        (one for one in spans if span.parent and one.context and one.context.span_id == span.parent.span_id), None
    )


@pytest.mark.parametrize(
    "environment", [{}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}]
)
def test_given_no_endpoint_nothing_is_traced(environment: dict[str, str]) -> None:
    assert Traces.open(environment) is None


async def test_given_an_endpoint_the_spans_go_there(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    async with web_server(lambda _: Answer()) as server:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.port}")
        traces = Traces.open(os.environ)
        assert traces is not None
        await _run(database, traces)
        await asyncio.to_thread(traces.close)
        (sent, *_) = server.asked
    assert (sent.method, sent.path) == ("POST", "/v1/traces")
    assert RUN.encode() in (gzip.decompress(sent.body) if sent.headers.get("content-encoding") == "gzip" else sent.body)


class _Speaker(Watch):
    """Writes into the log whenever a call has ended."""

    def taken_over(self, state: object) -> None: ...
    def committed(self, commit: object) -> None: ...
    def let_go(self, run_id: RunId) -> None: ...
    def called(self, run_id: RunId, call: object) -> None:
        logging.getLogger("speaker").info("ended, 好")


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
async def test_a_line_of_the_log_says_which_run_and_visit_it_belongs_to(
    formatter: logging.Formatter, database: Database
) -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(formatter)
    speaker = logging.getLogger("speaker")
    speaker.addHandler(handler)
    speaker.setLevel("INFO")
    await _run(database, _Speaker())
    speaker.removeHandler(handler)
    last = written.getvalue().splitlines()[-1]
    if isinstance(formatter, TextFormatter):
        assert last.endswith("INFO speaker: ended, 好 [run run-1]")
        return
    line = json.loads(last)
    assert (line["level"], line["logger"], line["message"]) == ("info", "speaker", "ended, 好")
    assert (line["runId"], line["nodeId"]) == ("run-1", "draft")
    assert line["visitId"]


def test_a_format_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidError, match="FLYBACK_LOG_FORMAT"):
        begin_log({"FLYBACK_LOG_FORMAT": "xml"})
