"""What holds for every DAG run, whatever was drawn and however long each node takes."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from flyback.domain.graph import Graph, NodeId
from flyback.domain.run import Mode, RunStatus, StepStatus
from flyback.domain.structure import without_notes
from kit.clock import settled
from kit.graphs import runnable_graphs
from kit.studio import Reply, SeenRun, Studio

_TERMINAL = {StepStatus.SUCCESS, StepStatus.FAILED, StepStatus.SKIPPED, StepStatus.CANCELLED}
delays = st.lists(st.integers(min_value=0, max_value=5), min_size=12, max_size=12)
faults = st.sets(st.integers(min_value=0, max_value=11), max_size=3)
choices = st.sets(st.integers(min_value=0, max_value=11))


async def _run(
    graph: Graph, delays_ms: Sequence[int], failing: set[int], yes: set[int], *, parallel_nodes: int = 16
) -> SeenRun:
    studio = Studio()
    answers: dict[str, Reply] = {}
    inputs: dict[str, str] = {}
    for place in range(len(delays_ms)):
        name = f"n{place}"
        fault: Reply = {"httpError": 400, "delayMs": delays_ms[place]}
        answers[name] = fault if place in failing else {"text": name.upper(), "delayMs": delays_ms[place]}
        inputs[name] = "yes" if place in yes else "no"
    return await studio.run(graph, inputs={**inputs}, answers=answers, mode=Mode.DAG, parallel_nodes=parallel_nodes)


@given(graph=runnable_graphs(), times=delays, failing=faults, yes=choices, places=st.integers(1, 4))
async def test_every_node_ends_or_never_started_and_no_place_is_taken_twice(
    graph: Graph, times: list[int], failing: set[int], yes: set[int], places: int
) -> None:
    run = await _run(graph, times, failing, yes, parallel_nodes=places)
    # then every record is at an end, and in a run that succeeded every node has one
    assert {record.status for record in run.raw.nodes.values()} <= _TERMINAL
    if run.status is RunStatus.SUCCESS:
        assert set(run.raw.nodes) == {node.id for node in graph.runnable}
    # and each node started at most once and ended at most once
    story = run.story
    for node in graph.runnable:
        assert story.count(f"{node.id} RUNNING") <= 1
        assert sum(story.count(f"{node.id} {status}") for status in _TERMINAL) <= 1
    # and never were more at work than there are places
    working = 0
    for event in run.events:
        working += event.short.endswith(" RUNNING")
        working -= event.short.split(" ")[-1] in {"SUCCESS", "FAILED", "CANCELLED"}
        if event.seq in _step_ends(run):
            assert working <= places
    # and there is one end, the last event
    assert [event.seq for event in run.events] == list(range(1, len(run.events) + 1))
    assert [name for name in story if name.startswith("workflow_")] == [story[-1]]


@given(graph=runnable_graphs(), times=delays, failing=faults, yes=choices)
async def test_a_node_runs_after_all_that_lead_to_it_if_one_of_them_chose_it(
    graph: Graph, times: list[int], failing: set[int], yes: set[int]
) -> None:
    run = await _run(graph, times, failing, yes)
    drawn = without_notes(graph)
    story = run.story
    for node in graph.runnable:
        record = run.raw.nodes.get(node.id)
        edges = drawn.edges_into(node.id)
        if record is None or not edges:
            continue
        began = story.index(f"{node.id} {'SKIPPED' if record.status is StepStatus.SKIPPED else 'RUNNING'}")
        handles = {edge.source: run.raw.nodes[edge.source].handle for edge in edges}
        for source in handles:
            assert _ended_at(story, source) < began
        is_live = any(handles[edge.source] == edge.handle for edge in edges)
        assert is_live is (record.status is not StepStatus.SKIPPED)


@given(graph=runnable_graphs(), one=delays, other=delays, yes=choices, places=st.integers(1, 4))
async def test_the_result_and_what_every_node_saw_are_the_same_whatever_the_timing(
    graph: Graph, one: list[int], other: list[int], yes: set[int], places: int
) -> None:
    first = await _run(graph, one, set(), yes)
    second = await _run(graph, other, set(), yes, parallel_nodes=places)
    assert first.end.outputs == second.end.outputs
    for node in graph.runnable:
        assert first.node(node.id).envelope == second.node(node.id).envelope
        assert list(first.node(node.id).inputs.items()) == list(second.node(node.id).inputs.items())
        assert first.prompts_of(node.id) == second.prompts_of(node.id)


@given(
    graph=runnable_graphs(), times=delays, failing=faults, yes=choices, moments=st.lists(st.integers(0, 6), max_size=3)
)
async def test_however_often_the_driver_dies_the_run_ends_as_if_nothing_had_happened(
    graph: Graph, times: list[int], failing: set[int], yes: set[int], moments: list[int]
) -> None:
    # given the run as it goes undisturbed
    calm = await _run(graph, times, failing, yes)
    # when its drivers die after so many moments
    studio = Studio()
    names = [f"n{place}" for place in range(len(times))]
    answers: dict[str, Reply] = {
        name: {"httpError": 400, "delayMs": delay} if place in failing else {"text": name.upper(), "delayMs": delay}
        for place, (name, delay) in enumerate(zip(names, times, strict=True))
    }
    inputs = {name: "yes" if place in yes else "no" for place, name in enumerate(names)}
    run_id = studio.accept(graph, inputs={**inputs}, answers=answers, mode=Mode.DAG)
    for moment in moments:
        task = studio.start(run_id)
        await settled()
        await studio.clock.advance(moment / 1000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        studio.log.hand_back(run_id)
    await studio.clock.run_through(studio.start(run_id))
    run = studio.look(run_id)
    # then a run that can succeed ends the same, and no node ends twice
    if calm.status is RunStatus.SUCCESS:
        assert run.end.outputs == calm.end.outputs
        assert run.statuses == calm.statuses
    assert run.status is calm.status
    for node in graph.runnable:
        assert sum(run.story.count(f"{node.id} {status}") for status in _TERMINAL) <= 1


def _ended_at(story: Sequence[str], node_id: NodeId) -> int:
    return next(place for place, name in enumerate(story) if name in {f"{node_id} {status}" for status in _TERMINAL})


def _step_ends(run: SeenRun) -> set[int]:
    """The events after which no other of the same step follows: a step begins with a node's end, or with the run."""
    ends = {"SUCCESS", "FAILED"}
    events = run.events
    return {
        event.seq
        for event, after in itertools.pairwise(events)
        if after.short.split(" ")[-1] in ends or after.type.value.startswith("workflow_")
    }
