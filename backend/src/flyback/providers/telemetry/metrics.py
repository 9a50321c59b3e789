"""The numbers of this process since it started: calls, tokens, ended runs, commits. In Prometheus's form.

Labels are names of a small closed set or of model entries, which an administrator makes: never of a workflow's own text.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from flyback.domain.run import RunId
from flyback.engine.log import CallRecord, Commit, RunState
from flyback.engine.watch import Watch

_CALL_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_COMMIT_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5)
_GROUP_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics(Watch):
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        kept = self.registry
        self._driven = Gauge(
            "flyback_driven_runs", "Runs that this process drives now, those inside others not counted.", registry=kept
        )
        self._ended = Counter(
            "flyback_runs_ended", "Runs that this process drove to their end.", ["status"], registry=kept
        )
        self._calls = Histogram(
            "flyback_model_call_seconds",
            "Model calls, from the question to the whole answer.",
            ["model", "role", "outcome"],
            buckets=_CALL_SECONDS,
            registry=kept,
        )
        self._tokens = Counter("flyback_model_tokens", "Tokens of model calls.", ["model", "direction"], registry=kept)
        self._tools = Histogram(
            "flyback_tool_call_seconds", "Tool calls.", ["outcome"], buckets=_CALL_SECONDS, registry=kept
        )
        self._commits = Histogram(
            "flyback_commit_seconds",
            "Transactions, from their beginning until they are on disk.",
            buckets=_COMMIT_SECONDS,
            registry=kept,
        )
        self._groups = Histogram(
            "flyback_commit_members", "Pieces of work in one transaction.", buckets=_GROUP_SIZES, registry=kept
        )
        self._live: set[RunId] = set()

    def taken_over(self, state: RunState) -> None:
        if state.inside is None:
            self._live.add(state.run_id)
        self._driven.set(len(self._live))

    def committed(self, commit: Commit) -> None:
        if commit.end is not None and commit.inside is None:
            self._ended.labels(commit.end.status.value).inc()

    def called(self, run_id: RunId, call: CallRecord) -> None:  # noqa: ARG002 -- every watch is told it
        outcome = "ok" if call.error is None else call.error.code
        if call.kind == "tool":
            self._tools.labels(outcome).observe(call.latency_ms / 1000)
            return
        self._calls.labels(call.name, call.role, outcome).observe(call.latency_ms / 1000)
        self._tokens.labels(call.name, "input").inc(call.usage.input_tokens)
        self._tokens.labels(call.name, "output").inc(call.usage.output_tokens)

    def let_go(self, run_id: RunId) -> None:
        self._live.discard(run_id)
        self._driven.set(len(self._live))

    def stored(self, members: int, seconds: float) -> None:
        """A transaction of so many members is on disk. Called from whatever thread wrote it."""
        self._commits.observe(seconds)
        self._groups.observe(members)
