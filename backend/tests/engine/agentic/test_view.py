"""What the planner sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from pydantic import JsonValue

from engine.agentic.drawings import Data, go, graph_of
from flyback.domain.envelope import CONTROL
from flyback.domain.graph import Graph, NodeId
from flyback.domain.run import Budget, ErrorInfo, RunUsage, StepStatus, Usage
from flyback.engine.agentic.chain import Chain
from flyback.engine.agentic.chart import draw_chart
from flyback.engine.agentic.view import Branch, BudgetLeft, Failure, Named, PlannerView, Taken, Viewer

DRAWN = "ask -> draft; draft -> review; review -> out"
NOTHING_USED = RunUsage()


def chain_of(graph: Graph, *, inputs: Data | None = None) -> Chain:
    return Chain(graph, inputs or {})


def look(
    chain: Chain, *, inputs: Data | None = None, budget: Budget | None = None, usage: RunUsage = NOTHING_USED
) -> PlannerView:
    viewer = Viewer(draw_chart(chain.graph), inputs or {}, max_visits=50, budget=budget or Budget())
    return viewer.look(chain, usage)


def texts(named: Sequence[Named]) -> Mapping[str, str]:
    return {one.name: one.text for one in named}


def test_the_task_is_always_there_each_input_cut_at_500_characters() -> None:
    inputs: Data = {"topic": "tides", "long": "x" * 501, "facts": {"a": [1, None, "é"]}}
    chain = chain_of(graph_of(DRAWN), inputs=inputs)
    go(chain, "ask", {"text": "hello"})
    assert texts(look(chain, inputs=inputs).task) == {
        "topic": "tides",
        "long": "x" * 500 + "...",
        "facts": '{"a":[1,null,"é"]}',
    }


@pytest.mark.parametrize("length", [0, 1, 799, 800])
def test_an_output_of_up_to_800_characters_is_shown_whole(length: int) -> None:
    chain = chain_of(graph_of(DRAWN))
    go(chain, "ask", {"text": "y" * length})
    assert look(chain).output == "y" * length


def test_a_longer_output_is_shown_as_its_first_500_and_its_last_299_characters() -> None:
    chain = chain_of(graph_of(DRAWN))
    go(chain, "ask", {"text": "a" * 500 + "m" * 400 + "z" * 299})
    shown = look(chain).output
    assert shown == "a" * 500 + "…" + "z" * 299
    assert len(shown) == 800


def test_the_main_value_stands_first_as_text_then_the_other_fields() -> None:
    chain = chain_of(graph_of(DRAWN))
    go(chain, "ask", {"score": 3, "final_response": "Done.", "tags": ["a", "ü"], CONTROL: {"requestRevisit": True}})
    assert look(chain).output == 'Done.\nscore: 3\ntags: ["a","ü"]'


def test_without_a_main_value_all_fields_are_shown() -> None:
    chain = chain_of(graph_of(DRAWN))
    go(chain, "ask", {"a": "1", "b": {"c": 2}})
    assert look(chain).output == 'a: 1\nb: {"c":2}'


def test_signals_and_the_control_signal_are_shown_on_their_own() -> None:
    chain = chain_of(graph_of(DRAWN))
    control: JsonValue = {"requestRevisit": True, "target": "draft", "reason": "too long"}
    go(chain, "ask", {"text": "x", CONTROL: control}, signals={"newRequirements": ["shorter"]})
    view = look(chain)
    assert view.signals == '{"newRequirements":["shorter"]}'
    assert view.control == '{"requestRevisit":true,"target":"draft","reason":"too long"}'


def test_a_visit_without_output_and_signals_shows_none() -> None:
    chain = chain_of(graph_of(DRAWN))
    go(chain, "ask", None, status=StepStatus.FAILED, handle=None, error=ErrorInfo("MODEL_TIMEOUT", "silence", "ask"))
    view = look(chain)
    assert (view.output, view.signals, view.control, view.branch) == ("", "", "", None)
    assert view.failure == Failure("MODEL_TIMEOUT", "silence", None)


def test_a_failure_under_branch_is_shown_with_where_its_error_edge_leads() -> None:
    chain = chain_of(graph_of("ask -> draft; ask -[error]-> review"))
    data: Data = {"error": {"message": "silence", "type": "ModelTimeoutError", "code": "MODEL_TIMEOUT"}}
    error = ErrorInfo("MODEL_TIMEOUT", "silence", "ask")
    go(chain, "ask", data, status=StepStatus.FAILED, handle="error", error=error)
    assert look(chain).failure == Failure("MODEL_TIMEOUT", "silence", hint=NodeId("review"))


def test_a_condition_shows_the_branch_it_chose_what_it_means_and_where_it_leads() -> None:
    conditions: Data = {
        "conditions": [{"type": "IF", "expression": "It\nrains"}, {"type": "ELIF", "expression": "It snows"}]
    }
    graph = graph_of(
        "if -[branch-0]-> draft; if -[branch-1]-> review", nodes={"if": "condition"}, data={"if": conditions}
    )
    shown: list[Branch | None] = []
    for handle in ("branch-0", "branch-1", "branch-2"):
        chain = chain_of(graph)
        go(chain, "if", {"branch": handle, "reason": "so"}, handle=handle)
        shown.append(look(chain).branch)
    assert shown == [
        Branch("branch-0", "It rains", NodeId("draft")),
        Branch("branch-1", "It snows", NodeId("review")),
        Branch("branch-2", "ELSE", None),
    ]


def test_the_last_ten_tool_calls_are_shown_with_short_results() -> None:
    calls: list[JsonValue] = [{"name": f"tool-{n}", "result": {"n": n} if n < 11 else "r" * 300} for n in range(12)]
    chain = chain_of(graph_of(DRAWN))
    go(chain, "ask", {"text": "x"}, meta={"toolCalls": calls})
    shown = list(look(chain).tool_calls)
    assert [one.name for one in shown] == [f"tool-{n}" for n in range(2, 12)]
    assert shown[0].text == '{"n":2}'
    assert shown[-1].text == "r" * 200 + "..."


def test_the_30_variables_written_last_are_shown_the_latest_first_each_cut_at_500_characters() -> None:
    chain = chain_of(graph_of(DRAWN), inputs={"topic": "tides"})
    go(chain, "draft", {f"v{n}": n for n in range(40)})
    go(chain, "review", {"text": "r" * 501})
    go(chain, "ask", {"text": "the last output"})
    shown = list(look(chain, inputs={"topic": "tides"}).variables)
    assert shown[0] == Named.of("review__text", "r" * 500 + "...")
    assert [one.name for one in shown[1:]] == [f"draft__v{n}" for n in range(39, 10, -1)]
    assert len(shown) == 30


def test_neither_the_last_output_nor_the_task_is_repeated_among_the_variables() -> None:
    inputs: Data = {"topic": "tides", "tone": "dry"}
    graph = graph_of("ask -> draft", nodes={"ask": "userInput"})
    chain = chain_of(graph, inputs=inputs)
    go(chain, "ask", {"topic": "tides", "tone": "warm"})
    go(chain, "draft", {"text": "d"})
    # what the person said last differs from the task and is shown
    assert list(texts(look(chain, inputs=inputs).variables)) == ["tone", "ask__tone", "ask__topic"]


def test_a_value_that_is_no_text_is_turned_into_text_again_only_when_somebody_has_written_it() -> None:
    chain = chain_of(graph_of(DRAWN))
    viewer = Viewer(draw_chart(chain.graph), {}, max_visits=50, budget=Budget())
    shown: list[str] = []
    steps: list[tuple[str, Data]] = [("draft", {"n": [1]}), ("ask", {"text": "x"}), ("draft", {"n": [2]})]
    for node_id, data in [*steps, ("ask", {"text": "y"})]:
        go(chain, node_id, data)
        shown.append(texts(viewer.look(chain, NOTHING_USED).variables).get("draft__n", ""))
    assert shown == ["", "[1]", "", "[2]"]


def test_every_node_but_notes_may_be_chosen_with_how_often_it_was_visited() -> None:
    graph = graph_of(DRAWN, nodes={"far": "llm", "remark": "note"})
    chain = chain_of(graph)
    for node_id in ("ask", "draft", "ask"):
        go(chain, node_id, {"text": "x"})
    assert {choice.card.node_id: choice.visits for choice in look(chain).choices} == {
        "far": 0,
        "ask": 2,
        "draft": 1,
        "review": 0,
        "out": 0,
    }


def test_an_output_node_shows_which_of_its_references_nothing_has_written_yet() -> None:
    template = "{{draft.text}} {{review.score}} {{topic}} {{extra?}} {{Draft it.text}}"
    graph = graph_of(DRAWN, data={"out": {"template": template}, "draft": {"label": "Draft it"}})
    chain = chain_of(graph, inputs={"topic": "tides"})
    viewer = Viewer(draw_chart(graph), {"topic": "tides"}, max_visits=50, budget=Budget())
    unwritten: list[tuple[str, ...]] = []
    steps: list[tuple[str, Data]] = [("ask", {"text": "x"}), ("draft", {"text": "d"}), ("review", {"score": 1})]
    for node_id, data in steps:
        go(chain, node_id, data)
        unwritten.append(viewer.look(chain, NOTHING_USED).choices[-1].unwritten)
    assert unwritten == [("draft.text", "review.score", "Draft it.text"), ("review.score",), ()]


def test_the_last_ten_decisions_are_shown() -> None:
    chain = chain_of(graph_of(DRAWN))
    for n in range(13):
        go(chain, ("draft", "review")[n % 2], {"text": "x"}, reason=f"reason {n}")
    decisions = list(look(chain).decisions)
    assert [taken.reason for taken in decisions] == [f"reason {n}" for n in range(3, 13)]
    assert decisions[-1] == Taken(NodeId("review"), NodeId("draft"), "planner", "reason 12")


def test_the_remaining_visits_and_budget_are_shown() -> None:
    chain = chain_of(graph_of(DRAWN))
    go(chain, "ask", {"text": "x"})
    go(chain, "draft", {"text": "x"})
    usage = RunUsage(Usage(600, 500, calls=3, cost=0.25, currency="EUR"), driven_seconds=12.5)
    assert look(chain).visits_left == 48
    assert look(chain).budget_left is None
    budget = Budget(tokens=1000, seconds=60.0, cost=1.0)
    assert look(chain, budget=budget, usage=usage).budget_left == BudgetLeft(0, 47.5, 0.75, "EUR")
    assert look(chain, budget=replace(budget, tokens=None), usage=usage).budget_left == BudgetLeft(
        None, 47.5, 0.75, "EUR"
    )


def test_three_visits_of_one_node_in_a_row_with_an_unchanged_workspace_are_hinted_at_once() -> None:
    chain = chain_of(graph_of(DRAWN))
    hints: list[bool] = []
    for _ in range(5):
        go(chain, "draft", {"text": "the same"})
        hints.append(look(chain).no_progress)
    assert hints == [False, False, True, False, False]
