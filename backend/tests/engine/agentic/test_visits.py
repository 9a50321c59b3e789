"""The visit loop: where it starts, what is stored, where it goes, how it ends."""

from __future__ import annotations

from pydantic import JsonValue

from engine.agentic.drawings import graph_of
from engine.agentic.stage import Stage, planner_prompts
from flyback.domain.envelope import CONTROL
from flyback.domain.events import EventType
from flyback.domain.json_value import dumps
from flyback.domain.run import RunStatus, StepStatus
from kit.golden import Golden

CHAIN = graph_of("A -> B; B -> C; C -> out", data={"A": {"userPrompt": "{{topic}}"}, "out": {"template": "{{A.text}}"}})


async def test_each_visit_keeps_the_workspace_of_the_one_before_plus_what_its_node_gave() -> None:
    # given A → B → C → A
    stage = Stage()
    run = await stage.run(
        CHAIN,
        inputs={"topic": "tides"},
        planner=["B", "C", "A", "out"],
        answers={"A": ["a1", "a2"], "B": "b1", "C": "c1"},
    )
    # then
    assert run.path == ["A", "B", "C", "A", "out"]
    expected: list[dict[str, JsonValue]] = [
        {"topic": "tides", "A__text": "a1"},
        {"topic": "tides", "A__text": "a1", "B__text": "b1"},
        {"topic": "tides", "A__text": "a1", "B__text": "b1", "C__text": "c1"},
        {"topic": "tides", "A__text": "a2", "B__text": "b1", "C__text": "c1"},
    ]
    assert [dict(visit.workspace.variables) for visit in run.visits[:4]] == expected
    assert [dict(stage.snapshots[visit.visit.visit_id].variables) for visit in run.visits[:4]] == expected
    again = run.visits[3]
    assert (again.node_id, again.iter_seq, again.from_node_id, again.is_fly_back) == ("A", 2, "C", True)
    assert run.result == "a2"
    assert run.status is RunStatus.SUCCESS


async def test_a_run_starts_at_the_first_user_input_node_even_where_edges_lead_to_it() -> None:
    graph = graph_of("x -> ask; ask -> out", nodes={"x": "llm", "ask": "userInput", "ask2": "userInput"})
    run = await Stage().run(graph, planner=["out"])
    assert run.path == ["ask", "out"]


async def test_without_a_user_input_a_run_starts_at_the_first_node_without_incoming_edges() -> None:
    graph = graph_of("b -> c; a -> b; c -> out")
    run = await Stage().run(graph, planner=["out"], answers={"a": "x"})
    assert run.path == ["a", "out"]


async def test_a_decision_that_needs_no_waiting_is_stored_together_with_its_visit() -> None:
    # given a planner whose answer is there at once
    stage = Stage()
    stage.planner_is_instant = True
    # when a run goes round
    run = await stage.run(
        graph_of("A -> B; B -> out"), planner=["B", "B", "out"], answers={"A": "a", "B": ["b1", "b2"]}
    )
    # then a visit and the decision after it are one step, and the events are those of two
    went_on = ["node_status", "visit_recorded", "planner_decision", "node_status"]
    assert [[event.type.value for event in commit.events] for commit in stage.commits] == [
        ["node_status"],
        went_on,
        went_on,
        went_on,
        ["node_status", "visit_recorded", "workflow_complete"],
    ]
    assert [visit.decision.next for visit in run.visits[:-1] if visit.decision] == ["B", "B", "out"]


async def test_the_events_come_in_the_agreed_order(golden: Golden) -> None:
    # given A#1, B#1, B#2, out#1
    stage = Stage()
    graph = graph_of("A -> B; B -> out", nodes={"A": "userInput"}, data={"A": {"variables": [{"name": "q"}]}})
    run = await stage.run(graph, inputs={"q": "x"}, planner=["B", "B", "out"], answers={"B": ["b1", "b2"]})
    assert [[event.type.value for event in commit.events] for commit in stage.commits] == [
        ["node_status"],
        ["node_status", "visit_recorded"],
        ["planner_decision", "node_status"],
        ["node_status", "visit_recorded"],
        ["planner_decision", "node_status"],
        ["node_status", "visit_recorded"],
        ["planner_decision", "node_status"],
        ["node_status", "visit_recorded", "workflow_complete"],
    ]
    assert [f"{event.seq} {event.short}" for event in run.events] == [
        "1 run_started",
        "2 A RUNNING",
        "3 A SUCCESS",
        "4 visit_recorded",
        "5 planner_decision",
        "6 B RUNNING",
        "7 B SUCCESS",
        "8 visit_recorded",
        "9 planner_decision",
        "10 B RUNNING",
        "11 B SUCCESS",
        "12 visit_recorded",
        "13 planner_decision",
        "14 out RUNNING",
        "15 out SUCCESS",
        "16 visit_recorded",
        "17 workflow_complete",
    ]
    whole = [f"{event.seq} {event.type.value} {dumps(event.data)}" for event in run.events]
    golden.check("agentic/events.txt", "\n".join(whole))


async def test_a_jump_without_an_edge_and_a_revisit_are_fly_backs_and_a_first_drawn_step_is_none() -> None:
    run = await Stage().run(
        CHAIN, planner=["C", "B", "C", "C", "out"], answers={"A": "a", "B": "b", "C": ["1", "2", "3"]}
    )
    assert [(visit.visit.on_canvas, visit.is_fly_back) for visit in run.visits] == [
        (True, False),  # the start
        (False, True),  # A → C: no edge
        (False, True),  # C → B: no edge
        (True, True),  # B → C: drawn, and C again
        (False, True),  # C → C: no edge
        (True, False),  # C → out
    ]
    decisions = [visit.decision for visit in run.visits[:-1]]
    assert [decision.on_canvas for decision in decisions if decision] == [False, False, True, False, True]
    # and the events say the same
    begun = [event.data for event in run.events_of(EventType.NODE_STATUS) if "iterSeq" in event.data]
    assert [(data["onCanvas"], data["isFlyBack"]) for data in begun] == [
        (visit.visit.on_canvas, visit.is_fly_back) for visit in run.visits
    ]


async def test_20_visits_of_one_node_in_a_row_run_through() -> None:
    answers = {"A": "a", "B": [f"b{n}" for n in range(20)]}
    run = await Stage().run(CHAIN, planner=[*["B"] * 20, "out"], answers=answers)
    assert run.path == ["A", *["B"] * 20, "out"]
    assert [visit.iter_seq for visit in run.visits_of("B")] == list(range(1, 21))
    assert run.status is RunStatus.SUCCESS


async def test_visit_50_is_recorded_and_ends_the_run() -> None:
    stage = Stage()
    run = await stage.run(CHAIN, planner=["B"] * 60, answers={"A": "a", "B": [f"b{n}" for n in range(1, 60)]})
    last = run.visits[-1]
    assert (len(run.visits), last.status, last.data) == (50, StepStatus.SUCCESS, {"text": "b49"})
    assert (run.error.code, run.error.message) == (
        "MAX_VISITS_EXCEEDED",
        "the maximum number of visits (50) was exceeded",
    )
    assert run.end.partial == "b49"
    # the planner is asked after every visit but the last, whose outcome, snapshot and end are one commit
    assert len(planner_prompts(run)) == 49
    assert run.story[-3:] == ["B SUCCESS", "visit_recorded", "workflow_error"]
    assert len(stage.commits[-1].events) == 3
    assert stage.snapshots[last.visit.visit_id].variables["B__text"] == "b49"


async def test_a_workflow_may_allow_fewer_visits_and_says_so_in_its_own_language() -> None:
    graph = graph_of("甲 -> 乙; 乙 -> out", data={"甲": {"label": "起草一段文字"}, "乙": {"label": "检查文字"}})
    run = await Stage().run(graph, planner=["乙"] * 3, answers={"甲": "a", "乙": ["b", "c"]}, max_visits=3)
    assert run.path == ["甲", "乙", "乙"]
    assert run.error.message == "超过最大访问次数 3"


async def test_an_output_node_may_be_the_last_visit_that_is_allowed() -> None:
    run = await Stage().run(CHAIN, planner=["B", "out"], answers={"A": "a", "B": "b"}, max_visits=3)
    assert run.path == ["A", "B", "out"]
    assert run.status is RunStatus.SUCCESS


async def test_an_output_node_is_the_only_legal_end_and_gives_the_result() -> None:
    graph = graph_of("A -> out", data={"out": {"template": "{{A.text}} {{nobody}}"}})
    run = await Stage().run(graph, planner=["A", "out"], answers={"A": ["draft", "done"]})
    (output,) = run.end.outputs
    assert (output.node_id, output.result, output.unresolved) == ("out", "done {{nobody}}", ("nobody",))
    end = run.events[-1]
    assert (end.type, end.data["success"], end.data["visitCount"]) == (EventType.WORKFLOW_COMPLETE, True, 3)


async def test_an_output_node_that_was_chosen_too_early_fails_and_the_planner_goes_on() -> None:
    graph = graph_of("A -> B; B -> out", data={"out": {"template": "{{B.text}}"}})
    run = await Stage().run(graph, planner=["out", "B", "out"], answers={"A": "a", "B": "b"})
    assert run.path == ["A", "out", "B", "out"]
    early = run.visits[1]
    assert early.error is not None
    assert (early.status, early.error.code) == (StepStatus.FAILED, "OUTPUT_EMPTY")
    assert "'B.text'" in early.error.message
    assert "OUTPUT_EMPTY" in planner_prompts(run)[1]
    assert run.result == "b"


async def test_an_output_node_reached_by_a_fallback_always_ends_the_run() -> None:
    graph = graph_of("A -> out", data={"out": {"template": "{{B.text}}"}, "B": {}})
    run = await Stage().run(graph, planner=[], answers={"A": "a"})
    assert run.path == ["A", "out"]
    assert run.result == "{{B.text}}"
    assert run.status is RunStatus.SUCCESS


async def test_a_control_signal_is_shown_to_the_planner_kept_in_the_output_and_never_enters_the_workspace() -> None:
    control: JsonValue = {"requestRevisit": True, "target": "A", "reason": "too long"}
    outputs: JsonValue = [{"name": "text"}, {"name": CONTROL, "type": "object"}]
    graph = graph_of("A -> B; B -> out", data={"B": {"outputs": outputs}})
    run = await Stage().run(
        graph, planner=["B", "out"], answers={"A": "a", "B": dumps({"text": "b", CONTROL: control})}
    )
    assert run.visits[1].data[CONTROL] == control
    assert set(run.visits[1].workspace.variables) == {"A__text", "B__text"}
    assert "REVISIT REQUESTED" in planner_prompts(run)[1]
    # it is a signal and no command
    assert run.path == ["A", "B", "out"]


async def test_a_user_input_takes_the_inputs_first_and_at_later_visits_what_was_queued() -> None:
    graph = graph_of("ask -> B; B -> out", nodes={"ask": "userInput"}, data={"ask": {"variables": [{"name": "q"}]}})
    run = await Stage().run(
        graph,
        inputs={"q": "one"},
        queued={"ask": [{"q": "two"}, {"q": "three"}]},
        planner=["ask", "ask", "ask", "out"],
    )
    assert run.path == ["ask", "ask", "ask", "ask"]
    assert [visit.workspace.variables["q"] for visit in run.visits[:3]] == ["one", "two", "three"]
    # and then the person is asked
    assert (run.visits[3].status, run.status) == (StepStatus.PAUSED, RunStatus.PAUSED)
