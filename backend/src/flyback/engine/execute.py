"""Executing one node, in either mode: attempts, retries, timeouts, and what a failure means.

A retry repeats an attempt that failed from a fault that can pass: silence, 429, 5xx, a broken stream, an answer that
cannot be read. Each failed attempt is committed before the wait, so that a crash neither forgets nor doubles it. After the
last attempt the node's `failStrategy` says what is written and which handle is activated; the record stays FAILED in each.
A used-up budget is no failure of the node: it goes up to whoever drives the run.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pydantic import JsonValue, ValidationError

from flyback.domain.envelope import Envelope
from flyback.domain.errors import (
    BudgetExceededError,
    ConfigInvalidError,
    EventLimitError,
    FlybackError,
    NodeError,
    NodeTimeoutError,
    OutputTooLargeError,
    RunTimeoutError,
    StorageBusyError,
    StorageFullError,
)
from flyback.domain.graph import Node, NodeId
from flyback.domain.json_value import mend
from flyback.domain.pause import Ask
from flyback.domain.run import NO_USAGE, ErrorInfo, Mode, StepStatus, Usage
from flyback.domain.value import value_type
from flyback.engine.approval import PersonNeededError
from flyback.engine.calls import CallPlace, Meter
from flyback.engine.failpoints import hit
from flyback.engine.log import Begun, CallBegins, CallRecord, FencedError, RunState
from flyback.engine.node_context import Place, WorkingNode
from flyback.engine.nodes.base import NodeConfig, NodeResult, NodeType, node_types, read_config
from flyback.engine.outcome import FAIL_STRATEGY, NodeOutcome, size_bytes
from flyback.engine.parts import Engine
from flyback.engine.resuming import Resumed, asked_at
from flyback.engine.run_at_work import RunAtWork
from flyback.engine.sub_runs import SubRuns
from flyback.engine.watch import Standing, standing

ERROR_HANDLE = "error"

_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 60.0
_STORAGE_WAIT_SECONDS = 1.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt that failed and will be followed by another. To be committed before the wait."""

    attempt: int
    """Its number, from 1."""
    error: ErrorInfo
    wait_ms: int
    calls: Sequence[CallRecord]
    usage: Usage
    """Of the node at this place so far."""


OnFailedAttempt = Callable[[FailedAttempt], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Kept:
    """How far an attempt has come. To be committed before it goes on."""

    resumed: Resumed
    calls: Sequence[CallRecord]
    usage: Usage
    """Of the node at this place so far."""
    begins: CallBegins | None = None
    """The tool call that is made next."""


OnKept = Callable[[Kept], Awaitable[None]]


async def nothing_is_kept(kept: Kept) -> None:
    """For work that nobody goes on with."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A node with its settings, read once a driven segment."""

    node: Node
    kind: NodeType[Any]
    config: NodeConfig
    has_error_edge: bool


class _Progress:
    """How far the work at one place has come, over its attempts, and that each step of it is stored."""

    def __init__(self, node_id: NodeId, place: Place, on_kept: OnKept) -> None:
        self._node_id = node_id
        self._visit_id = place.visit_id
        self._on_kept = on_kept
        self.resumed = place.resumed
        self.usage = place.usage
        """Of the attempts before the present one."""

    async def keep(self, calls: CallPlace, state: JsonValue) -> None:
        self.resumed = Resumed(state)
        await self._on_kept(Kept(self.resumed, calls.take_records(), self.usage.plus(calls.usage)))

    async def begin(self, calls: CallPlace, begun: Begun, arguments: JsonValue) -> bool:
        """Store that a tool call begins; say whether it was begun before, by a driver that died."""
        before = self.resumed or Resumed(None)
        recovered = before.begun == begun
        self.resumed = replace(before, begun=begun)
        begins = CallBegins(self._node_id, self._visit_id, begun, arguments, recovered)
        await self._on_kept(Kept(self.resumed, calls.take_records(), self.usage.plus(calls.usage), begins))
        return recovered


@value_type
class _Attempt:
    """One attempt at a node at its place."""

    number: int
    """From 1, those of earlier drivers included."""
    node: Node
    place: Place
    calls: CallPlace
    work: WorkingNode
    used_before: Usage

    @property
    def usage(self) -> Usage:
        """Of the node at this place so far."""
        return self.used_before.plus(self.calls.usage)


class NodeRunner:
    """Executes the nodes of one run."""

    def __init__(self, state: RunState, engine: Engine, meter: Meter, sub_runs: SubRuns | None = None) -> None:
        self._sub_runs = sub_runs
        self._state = state
        self._engine = engine
        self._meter = meter
        self._run = RunAtWork(state, engine, sub_runs)
        self._prepared: dict[NodeId, _Prepared] = {}

    async def run(
        self, node: Node, place: Place, on_failed_attempt: OnFailedAttempt, on_kept: OnKept = nothing_is_kept
    ) -> NodeOutcome:
        """Execute a node until it succeeds, asks a person, or its attempts are used up.

        Raises:
            BudgetExceededError, RunTimeoutError: the run may go no further; finished calls are with the meter.
        """
        standing.set(Standing(self._state.run_id, node.id, place.visit_id))
        number, progress = place.attempts, _Progress(node.id, place, on_kept)
        while True:
            number += 1
            attempt = self._begin(number, node, place, progress)
            try:
                return await self._make(attempt, progress)
            except (BudgetExceededError, RunTimeoutError, EventLimitError, FencedError):
                raise
            except (StorageBusyError, StorageFullError) as trouble:
                _log.warning("run %s: node %s waits for the storage: %s", self._state.run_id, node.id, trouble)
                number -= 1
                progress.usage = attempt.usage
                await self._engine.clock.sleep(_STORAGE_WAIT_SECONDS)
                continue
            except Exception as error:
                failure = self._failure(node, error)
            progress.usage = attempt.usage
            wait = self._wait_seconds(failure, attempt)
            if wait is None:
                return self._failed(attempt, failure, await self._settle_sub_runs(attempt))
            info, calls = _info(failure, node, attempts=1), attempt.calls.take_records()
            await on_failed_attempt(FailedAttempt(number, info, round(wait * 1000), calls, progress.usage))
            await self._engine.clock.sleep(wait)

    def waits(self, node: Node) -> bool:
        """Whether the node's work may wait for something, so that others should work meanwhile."""
        kind = node_types().get(node.type)
        return kind is not None and kind.waits

    def _begin(self, number: int, node: Node, place: Place, progress: _Progress) -> _Attempt:
        calls = self._meter.at(node.id, place.visit_id, "node", number, on_begun=progress.begin)
        keep = partial(progress.keep, calls)
        work = WorkingNode(
            self._run, node, place, calls, resumed=progress.resumed, used_before=progress.usage, keep=keep
        )
        return _Attempt(number, node, place, calls, work, progress.usage)

    async def _make(self, attempt: _Attempt, progress: _Progress) -> NodeOutcome:
        """Raises what the work raises."""
        prepared = self._prepare(attempt.node)
        hit("execute.before")
        try:
            result = await self._execute(prepared, attempt.work)
        except PersonNeededError as needed:
            return _asked(attempt, asked_at(needed.ask, progress.resumed))
        hit("execute.after")
        if isinstance(result, Ask):
            return _asked(attempt, result)
        used_inside = await self._settle_sub_runs(attempt)
        return _succeeded(attempt, result, used_inside, self._engine.limits.output_bytes)

    async def _settle_sub_runs(self, attempt: _Attempt) -> Usage:
        """The node is done: none of the runs that it started goes on. Return what they used."""
        prepared = self._prepared.get(attempt.node.id)
        if self._sub_runs is None or prepared is None or not prepared.kind.starts_runs:
            return NO_USAGE
        return await self._sub_runs.close(attempt.node.id, attempt.place.visit_id)

    async def _execute(self, prepared: _Prepared, work: WorkingNode) -> Mapping[str, JsonValue] | NodeResult | Ask:
        if not prepared.kind.waits:
            return await prepared.kind.execute(prepared.config, work)
        seconds = prepared.config.timeout_seconds
        timeout = self._engine.clock.timeout(seconds)
        try:
            async with timeout:
                return await prepared.kind.execute(prepared.config, work)
        except TimeoutError:
            if not timeout.expired():
                raise
            raise NodeTimeoutError(
                f"node {prepared.node.id!r} took longer than {seconds:g} s",
                node=prepared.node.id,
                field="timeoutSeconds",
                fix="Raise the node's timeout, or give it less to do.",
            ) from None

    def _prepare(self, node: Node) -> _Prepared:
        known = self._prepared.get(node.id)
        if known is not None:
            return known
        kind = node_types().get(node.type)
        if kind is None:
            raise ConfigInvalidError(f"nothing here runs nodes of the type {node.type!r}", node=node.id, field="type")
        try:
            config = read_config(node)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(str(part) for part in first["loc"])
            raise ConfigInvalidError(
                f"the settings of node {node.id!r} cannot be used: {first['msg']}", node=node.id, field=field
            ) from error
        has_error_edge = any(edge.handle == ERROR_HANDLE for edge in self._state.graph.edges_from(node.id))
        prepared = self._prepared[node.id] = _Prepared(node, kind, config, has_error_edge)
        return prepared

    def _failure(self, node: Node, error: Exception) -> FlybackError:
        if isinstance(error, FlybackError):
            return error
        _log.error("run %s: node %s broke", self._state.run_id, node.id, exc_info=error)
        return _unexpected(error)

    def _wait_seconds(self, failure: FlybackError, attempt: _Attempt) -> float | None:
        """How long to wait before the next attempt; None where there is none."""
        prepared = self._prepared.get(attempt.node.id)
        if prepared is None or not isinstance(failure, NodeError) or not failure.transient:
            return None
        if attempt.number > prepared.config.max_retries:
            return None
        if failure.retry_after_seconds is not None:
            return min(max(failure.retry_after_seconds, 0.0), _LONGEST_WAIT_SECONDS)
        wait = _FIRST_WAIT_SECONDS * 2 ** (attempt.number - 1)
        return min(wait * self._engine.dice.uniform(0.8, 1.2), _LONGEST_WAIT_SECONDS)

    def _failed(self, attempt: _Attempt, failure: FlybackError, used_inside: Usage) -> NodeOutcome:
        node, prepared = attempt.node, self._prepared.get(attempt.node.id)
        error = _info(failure, node, attempts=attempt.number)
        outcome = NodeOutcome(
            StepStatus.FAILED,
            envelope=None,
            handle=None,
            attempts=attempt.number,
            usage=attempt.usage.plus(used_inside),
            calls=attempt.calls.take_records(),
            inputs=attempt.work.resolved,
            error=error,
        )
        strategy = prepared.config.fail_strategy if prepared is not None else None
        if prepared is not None and strategy == "skip":
            written = _default_envelope(node, prepared.config.default_output)
            way_on = prepared.kind.handle_after_skip(prepared.config, {} if written is None else written.data)
            return replace(outcome, envelope=written, handle=way_on)
        if prepared is not None and strategy == "branch" and prepared.has_error_edge:
            return replace(outcome, envelope=_error_envelope(node, failure, error), handle=ERROR_HANDLE)
        return replace(outcome, aborts=strategy in ("abort", "branch") or self._state.mode is Mode.DAG)


def _asked(attempt: _Attempt, ask: Ask) -> NodeOutcome:
    """The attempt that asks is neither over nor failed: it goes on with the answer."""
    return NodeOutcome(
        StepStatus.PAUSED,
        envelope=None,
        handle=None,
        attempts=attempt.number - 1,
        usage=attempt.usage,
        calls=attempt.calls.take_records(),
        inputs=attempt.work.resolved,
        ask=ask,
    )


def _succeeded(
    attempt: _Attempt, result: Mapping[str, JsonValue] | NodeResult, used_inside: Usage, limit_bytes: int
) -> NodeOutcome:
    node, work = attempt.node, attempt.work
    result = result if isinstance(result, NodeResult) else NodeResult(result)
    data, notes = _mended(result.data)
    signals: Mapping[str, JsonValue] = result.signals
    if signals:
        signals, signal_notes = _mended(signals)
        notes.extend(signal_notes)
    _check_size(node, data, limit_bytes)
    meta = {**result.meta, **work.notes}
    if work.unresolved:
        meta["unresolved"] = list(work.unresolved)
    if notes:
        meta["mended"] = [*_noted(meta.get("mended")), *notes]
    return NodeOutcome(
        StepStatus.SUCCESS,
        envelope=Envelope(node.id, node.type, data, meta, signals),
        handle=result.handle,
        attempts=attempt.number,
        usage=attempt.usage.plus(used_inside),
        calls=attempt.calls.take_records(),
        inputs=work.resolved,
    )


def _check_size(node: Node, data: Mapping[str, JsonValue], limit_bytes: int) -> None:
    """Raises OutputTooLargeError."""
    size = size_bytes(data)
    if size > limit_bytes:
        raise OutputTooLargeError(
            f"node {node.id!r} gave {size / 1024 / 1024:.1f} MiB; at most {limit_bytes / 1024 / 1024:g} MiB are kept",
            node=node.id,
            fix="Let the node give less: ask for a shorter answer, or pass on a part.",
        )


def _noted(before: JsonValue) -> list[JsonValue]:
    return before if isinstance(before, list) else []


def _mended(data: Mapping[str, JsonValue]) -> tuple[dict[str, JsonValue], list[str]]:
    if all(isinstance(value, str) and value.isascii() and "\0" not in value for value in data.values()):
        return dict(data), []
    mended, notes = mend(data)
    assert isinstance(mended, dict), "mending keeps an object an object"
    return mended, notes


def _default_envelope(node: Node, default: JsonValue) -> Envelope | None:
    """What `skip` writes: the default's own fields, a plain value as `text`; nothing without a default."""
    if default is None:
        return None
    data, _ = _mended(default if isinstance(default, dict) else {"text": default})
    return Envelope(node.id, node.type, data, {FAIL_STRATEGY: "skip"})


def _error_envelope(node: Node, failure: FlybackError, error: ErrorInfo) -> Envelope:
    told: JsonValue = {"message": error.message, "type": type(failure).__name__, "code": error.code}
    data, _ = _mended({"error": told})
    return Envelope(node.id, node.type, data, {FAIL_STRATEGY: "branch"})


def _info(failure: FlybackError, node: Node, *, attempts: int) -> ErrorInfo:
    message = failure.message if attempts == 1 else f"{failure.message} ({attempts} attempts)"
    return ErrorInfo(failure.code, message, node.id, failure.field, failure.fix)


def _unexpected(error: Exception) -> FlybackError:
    said = str(error)
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return NodeError(f"the node broke: {what[:500]}", fix="This is a fault of the program: the log tells more.")
