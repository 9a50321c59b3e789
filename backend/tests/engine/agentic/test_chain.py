"""The chain of visits: the workspace, the counts, what a visit is told, what is still asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from engine.agentic.drawings import NOON, Data, go, graph_of
from flyback.domain.decision import Decision
from flyback.domain.envelope import CONTROL
from flyback.domain.graph import Graph, NodeId
from flyback.domain.run import StepStatus, VisitId
from flyback.domain.workspace import written_by
from flyback.engine.agentic.chain import Chain


def chain_of(graph: Graph, steps: Sequence[tuple[str, Data | None]], *, inputs: Data | None = None) -> Chain:
    chain = Chain(graph, inputs or {})
    for node_id, data in steps:
        go(chain, node_id, data)
    return chain


def test_the_workspace_of_a_visit_is_the_one_before_it_plus_what_its_node_gave() -> None:
    # given A → B → C → A
    graph = graph_of("A -> B; B -> C; C -> out")
    chain = Chain(graph, {"topic": "tides"})
    seen: list[dict[str, JsonValue]] = []
    for node_id, text in [("A", "a1"), ("B", "b1"), ("C", "c1"), ("A", "a2")]:
        go(chain, node_id, {"text": text})
        seen.append(dict(chain.workspace.variables))
    # then A's earlier value is overwritten at its second visit, and the second visit knows where it came from
    assert seen == [
        {"topic": "tides", "A__text": "a1"},
        {"topic": "tides", "A__text": "a1", "B__text": "b1"},
        {"topic": "tides", "A__text": "a1", "B__text": "b1", "C__text": "c1"},
        {"topic": "tides", "A__text": "a2", "B__text": "b1", "C__text": "c1"},
    ]
    assert list(seen[-1]) == ["topic", "B__text", "C__text", "A__text"]
    assert (chain.last.iter_seq, chain.last.from_node_id, chain.last.sort_order) == (2, "C", 3)
    assert chain.last.writers == {"topic": -1, "B__text": 1, "C__text": 2, "A__text": 3}


def test_a_visit_that_failed_writes_nothing() -> None:
    chain = chain_of(graph_of("A -> B"), [("A", {"text": "a"})])
    go(chain, "B", None, status=StepStatus.FAILED, handle=None)
    assert dict(chain.workspace.variables) == {"A__text": "a"}
    assert chain.last.writers == {"A__text": 0}


def test_a_control_signal_is_kept_in_the_output_and_never_enters_the_workspace() -> None:
    chain = chain_of(graph_of("A -> B"), [("A", {"text": "a", CONTROL: {"requestRevisit": True}})])
    assert dict(chain.workspace.variables) == {"A__text": "a"}
    assert chain.last.envelope is not None
    assert CONTROL in chain.last.envelope.data


def test_a_visit_is_told_why_it_was_sent_from_where_and_what_its_node_gave_last() -> None:
    chain = chain_of(graph_of("A -> B; B -> A"), [("A", {"text": "a1"}), ("B", {"text": "b1"})])
    go(chain, "A", {"text": "a2"}, reason="too long")
    chain.keep(replace(chain.last, decision=Decision(NodeId("A"), "still too long", "planner", on_canvas=False)))
    chain.append(chain.next_visit(chain.graph.nodes[NodeId("A")], chain.last.decision, visit_id=VisitId("v"), now=NOON))
    facts = chain.facts()
    assert (facts.number, facts.iter_seq, facts.reason, facts.from_node_id) == (4, 3, "still too long", "A")
    assert facts.previous_output is not None
    assert facts.previous_output.data == {"text": "a2"}
    assert chain.last.is_fly_back


def test_the_first_visit_has_no_reason_and_comes_from_nowhere() -> None:
    chain = Chain(graph_of("A -> B"), {})
    chain.append(chain.next_visit(chain.graph.nodes[NodeId("A")], None, visit_id=VisitId("v"), now=NOON))
    facts = chain.facts()
    assert (facts.number, facts.iter_seq, facts.reason, facts.from_node_id) == (1, 1, "", None)
    assert facts.previous_output is None
    assert not chain.last.is_fly_back


# New requirements.


def wishes(*texts: str) -> dict[str, JsonValue]:
    return {"newRequirements": list(texts)}


TYPES = {"ask": "smartAction", "draft": "llm", "skilled": "agent", "shape": "template", "if": "condition"}


def test_a_new_requirement_is_open_until_a_visit_that_was_told_of_it_has_succeeded() -> None:
    chain = chain_of(graph_of("ask -> draft", nodes=TYPES), [("draft", {"text": "d1"})])
    go(chain, "ask", {"text": "x"}, signals=wishes("make it shorter", "in French"))
    assert chain.requirements == ["make it shorter", "in French"]
    # a template and a condition are told nothing, a visit that failed has done nothing
    go(chain, "shape", {"text": "x"})
    go(chain, "if", {"branch": "branch-0"}, handle="branch-0")
    go(chain, "draft", None, status=StepStatus.FAILED, handle=None)
    assert chain.requirements == ["make it shorter", "in French"]
    # the llm node that is visited again is told
    go(chain, "draft", {"text": "d2"})
    assert chain.requirements == []


def test_an_llm_node_takes_a_requirement_up_at_its_first_visit_only_where_its_prompt_asks_for_it() -> None:
    asks = {"userPrompt": "Write. {{visit.requirements}}"}
    graph = graph_of("ask -> draft", nodes={**TYPES, "other": "llm"}, data={"other": asks})
    chain = Chain(graph, {})
    go(chain, "ask", {"text": "x"}, signals=wishes("shorter"))
    go(chain, "draft", {"text": "d1"})
    assert chain.requirements == ["shorter"]
    go(chain, "other", {"text": "o1"})
    assert chain.requirements == []


def test_an_llm_node_that_is_visited_again_and_is_not_told_takes_nothing_up() -> None:
    prompts: dict[str, Data] = {"draft": {"userPrompt": "{{visit.reason}}"}, "other": {"tellRevisit": False}}
    chain = Chain(graph_of("ask -> draft", nodes={**TYPES, "other": "llm"}, data=prompts), {})
    go(chain, "ask", {"text": "x"}, signals=wishes("shorter"))
    for node_id in ("draft", "draft", "other", "other"):
        go(chain, node_id, {"text": "d"})
    assert chain.requirements == ["shorter"]


def test_an_agent_is_always_told_and_what_it_raises_itself_is_open_again() -> None:
    chain = Chain(graph_of("ask -> skilled", nodes=TYPES), {})
    go(chain, "ask", {"text": "x"}, signals=wishes("shorter"))
    go(chain, "skilled", {"text": "y"}, signals=wishes("bolder", "bolder", " "))
    assert chain.requirements == ["bolder"]


# No progress.


def test_visits_of_one_node_in_a_row_with_an_unchanged_workspace_are_counted() -> None:
    chain = chain_of(graph_of("A -> B"), [("A", {"text": "a"})])
    counts: list[int] = []
    for node_id, text in [("B", "x"), ("B", "x"), ("B", "x"), ("B", "y"), ("B", "y"), ("A", "a"), ("B", "y")]:
        go(chain, node_id, {"text": text})
        counts.append(chain.same_in_a_row)
    assert counts == [1, 2, 3, 1, 2, 1, 1]


def test_failures_leave_the_workspace_unchanged() -> None:
    chain = chain_of(graph_of("A -> B"), [("A", {"text": "a"})])
    for _ in range(3):
        go(chain, "B", None, status=StepStatus.FAILED, handle=None)
    assert chain.same_in_a_row == 3


# Properties.

_steps = st.lists(
    st.tuples(
        st.sampled_from("ABC"),
        st.none() | st.dictionaries(st.sampled_from(["text", "n", CONTROL]), st.integers(0, 3) | st.text(max_size=3)),
    ),
    min_size=1,
    max_size=12,
)


@given(_steps, st.dictionaries(st.sampled_from(["q", "A__text"]), st.text(max_size=3)))
def test_each_workspace_is_the_one_before_plus_the_output_and_the_map_finds_every_value(
    steps: list[tuple[str, Data | None]], inputs: Data
) -> None:
    chain = Chain(graph_of("A -> B; B -> C"), inputs)
    before = dict(inputs)
    for node_id, data in steps:
        go(chain, node_id, data)
        given = chain.last.envelope
        written = written_by(given) if given else {}
        assert dict(chain.workspace.variables) == before | written
        before = dict(chain.workspace.variables)
    values: dict[str, JsonValue] = {}
    for key, writer in chain.workspace.writers.items():
        if writer < 0:
            values[key] = inputs[key]
        else:
            envelope = chain.visits[writer].envelope
            assert envelope is not None
            values[key] = written_by(envelope)[key]
    assert values == before


@given(_steps)
def test_a_chain_read_back_from_its_visits_stands_where_the_first_one_stood(
    steps: list[tuple[str, Data | None]],
) -> None:
    graph = graph_of("A -> B; B -> C")
    chain = chain_of(graph, steps, inputs={"q": 1})
    again = Chain(graph, {"q": 1}, chain.visits)
    assert again.workspace == chain.workspace
    assert list(again.workspace.variables) == list(chain.workspace.variables)
    assert (again.same_in_a_row, again.requirements, again.path) == (
        chain.same_in_a_row,
        chain.requirements,
        chain.path,
    )
    assert [again.times_visited(NodeId(node)) for node in "ABC"] == [
        chain.times_visited(NodeId(node)) for node in "ABC"
    ]
