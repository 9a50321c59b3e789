"""DAG mode: what starts when, what is skipped, and how a run ends."""

from __future__ import annotations

from flyback.domain.events import EventType
from flyback.domain.run import Budget, RunStatus
from flyback.engine.limits import RunLimits
from kit.clock import settled
from kit.drawing import when
from kit.studio import Studio

RULE = when("go", "left")


async def test_given_three_nodes_in_a_row_each_end_starts_the_next_in_one_step(studio: Studio) -> None:
    # given a chain
    graph = studio.draw("A -> B -> out")
    # when it runs
    run = await studio.run(graph, answers=["hello"])
    # then the events tell it in order, and the result is what leads to the output node
    assert run.story == [
        "run_started",
        "A RUNNING",
        "A SUCCESS",
        "B RUNNING",
        "B SUCCESS",
        "out RUNNING",
        "out SUCCESS",
        "workflow_complete",
    ]
    assert run.status is RunStatus.SUCCESS
    assert run.result == "hello"
    assert run.raw.step == 4


async def test_given_parallel_branches_a_merge_runs_once_and_after_both(studio: Studio) -> None:
    # given two branches that meet, one of them longer
    graph = studio.draw(
        "ask -> a -> join; ask -> b -> c -> join; join -> out", join={"userPrompt": "{{a.text}}|{{c.text}}"}
    )
    # when it runs
    run = await studio.run(graph, answers={"a": "1", "b": "2", "c": "3", "join": "4"})
    # then the merge was asked once, with what both gave
    assert run.prompts_of("join") == ["1|3"]
    assert run.result == "4"
    assert run.story.count("join RUNNING") == 1


async def test_given_a_slow_branch_another_one_does_not_wait_for_it(studio: Studio) -> None:
    # given two branches, the first of which hangs at its model
    graph = studio.draw("ask -> slow -> out; ask -> fast -> next -> out")
    studio.hold("slow")
    run_id = studio.accept(graph, answers={"slow": "s", "fast": "f", "next": "n"})
    # when everything has happened that can
    task = studio.start(run_id)
    await settled()
    # then the other branch is through
    assert studio.look(run_id).statuses == {
        "ask": "SUCCESS",
        "slow": "RUNNING",
        "out": "PENDING",
        "fast": "SUCCESS",
        "next": "SUCCESS",
    }
    studio.let_go("slow")
    await task
    assert studio.look(run_id).result == "s\n\nn"


async def test_given_a_condition_the_branch_not_chosen_is_skipped_and_that_goes_on(studio: Studio) -> None:
    # given a condition, one arm of which has two nodes
    graph = studio.draw(
        "ask -> pick; pick -[branch-0]-> left -> more -> out; pick -[branch-1]-> right -> out",
        pick=RULE,
        more={"userPrompt": "{{left.text}}"},
    )
    # when the other arm is taken
    run = await studio.run(graph, inputs={"go": "right"}, answers={"right": "R"})
    # then both are skipped in the step of the condition's end, in topological order, and out ran on the live arm alone
    assert run.story[4:9] == ["pick SUCCESS", "left SKIPPED", "more SKIPPED", "right RUNNING", "right SUCCESS"]
    assert run.statuses["left"] == run.statuses["more"] == "SKIPPED"
    assert run.result == "R"


async def test_given_an_arm_straight_to_the_merge_the_merge_waits_for_the_skipped_one(studio: Studio) -> None:
    # given one arm that goes through a node and one that goes straight to the merge
    graph = studio.draw("ask -> pick; pick -[branch-0]-> draft -> final -> out; pick -[branch-1]-> final", pick=RULE)
    for chosen, draft in (("left", "SUCCESS"), ("right", "SKIPPED")):
        # when either is taken
        run = await studio.run(graph, inputs={"go": chosen}, answers={"draft": "D", "final": "F"})
        # then the merge ran once
        assert run.statuses["draft"] == draft
        assert run.story.count("final RUNNING") == 1
        assert run.result == "F"


async def test_given_no_else_edge_nothing_is_chosen_and_the_run_has_no_output(studio: Studio) -> None:
    # given a condition with only its IF drawn
    graph = studio.draw("ask -> pick; pick -[branch-0]-> left -> out", pick=RULE)
    # when ELSE is taken
    run = await studio.run(graph, inputs={"go": "right"})
    # then no output node ran, which is a failure
    assert run.status is RunStatus.FAILED
    assert run.error.code == "NO_OUTPUT"
    assert run.end.path == ("ask", "pick")


async def test_given_a_user_input_at_the_start_what_it_does_not_reach_is_skipped(studio: Studio) -> None:
    # given a node that nothing leads to, beside a user input
    graph = studio.draw("ask -> out; lost -> end", lost={"type": "llm"})
    # when it runs
    run = await studio.run(graph)
    # then it is skipped with what follows from it
    assert run.statuses == {"ask": "SUCCESS", "out": "SUCCESS", "lost": "SKIPPED", "end": "SKIPPED"}
    assert run.story[1:4] == ["ask RUNNING", "lost SKIPPED", "end SKIPPED"]


async def test_given_no_user_input_every_node_without_incoming_edges_starts(studio: Studio) -> None:
    # given two beginnings
    graph = studio.draw("a -> out; b -> out", a={"type": "llm"}, b={"type": "llm"})
    # when it runs, then both gave something
    run = await studio.run(graph, answers={"a": "1", "b": "2"})
    assert run.result == "1\n\n2"


async def test_given_notes_they_are_looked_through_and_have_no_record(studio: Studio) -> None:
    # given a note in the way, and a note that points at a node
    graph = studio.draw("ask -> hint -> b -> out; remark -> b", hint={"type": "note"}, remark={"type": "note"})
    # when it runs
    run = await studio.run(graph, answers={"b": "B"})
    # then nothing waits for them
    assert run.result == "B"
    assert list(run.statuses) == ["ask", "b", "out"]


async def test_given_several_output_nodes_the_result_lists_all_that_ran_in_topological_order(studio: Studio) -> None:
    # given an output node at the side of a longer way to another
    graph = studio.draw("ask -> a -> b -> last; ask -> early")
    # when it runs
    run = await studio.run(graph, inputs={"q": "x"}, answers={"a": "1", "b": "2"})
    # then both are listed, ties in canvas order
    assert [output.node_id for output in run.end.outputs] == ["last", "early"]
    complete = run.events_of(EventType.WORKFLOW_COMPLETE)[0].data
    assert complete["success"] is True
    assert complete["outputs"] == [{"nodeId": "last", "result": "2"}, {"nodeId": "early", "result": ""}]
    assert complete["visitCount"] is None


async def test_given_two_places_a_ready_node_that_waits_is_pending(studio: Studio) -> None:
    # given three nodes that could work at once, and room for two
    graph = studio.draw("ask -> a -> out; ask -> b -> out; ask -> c -> out")
    studio.hold("a", "b", "c")
    run_id = studio.accept(graph, answers={"a": "1", "b": "2", "c": "3"}, parallel_nodes=2)
    task = studio.start(run_id)
    await settled()
    # then only two are RUNNING
    assert studio.look(run_id).statuses == {
        "ask": "SUCCESS",
        "a": "RUNNING",
        "out": "PENDING",
        "b": "RUNNING",
        "c": "PENDING",
    }
    # when one of them ends
    studio.let_go("b")
    await settled()
    # then its place is taken in the same step
    run = studio.look(run_id)
    assert run.story[-2:] == ["b SUCCESS", "c RUNNING"]
    studio.let_go("a", "c")
    await task
    assert run.result == "1\n\n2\n\n3"


async def test_given_a_failure_the_run_ends_and_names_the_node(studio: Studio) -> None:
    # given a chain whose model refuses
    graph = studio.draw("in -> prep -> act -> out; in -> side -> out")
    # when it runs
    run = await studio.run(graph, answers={"prep": [{"httpError": 400}], "side": [{"text": "S", "delayMs": 10}]})
    # then nothing behind it ran, and the failure is told with node and path
    assert run.status is RunStatus.FAILED
    assert run.statuses["act"] == run.statuses["out"] == "PENDING"
    assert run.asked("act") == []
    assert (run.error.code, run.error.node) == ("NODE_FAILED", "prep")
    assert "MODEL_REFUSED" in run.error.message
    assert "prep" in run.error.message
    error = run.events[-1]
    assert error.type is EventType.WORKFLOW_ERROR
    assert error.data["nodeId"] == "prep"
    assert error.data["path"] == ["in", "prep"]
    assert run.node("prep").error is not None
    assert run.node("prep").envelope is None


async def test_given_a_failure_working_siblings_are_cancelled_at_once(studio: Studio) -> None:
    # given a node that fails beside one that hangs, in the middle of its stream
    graph = studio.draw("in -> bad -> join; in -> slow -> join; join -> out")
    hanging = {"stream": ["so ", "far"], "everyMs": 50_000}
    run_id = studio.accept(graph, answers={"bad": [{"httpError": 401, "delayMs": 100}], "slow": [hanging]})
    # when it runs
    task = studio.start(run_id)
    await settled()
    await studio.clock.advance(1)
    # then the run has ended, the hanging call was aborted and is on record
    assert task.done()
    run = studio.look(run_id)
    assert run.statuses == {"in": "SUCCESS", "bad": "FAILED", "join": "PENDING", "slow": "CANCELLED", "out": "PENDING"}
    assert run.story[-3:] == ["bad FAILED", "slow CANCELLED", "workflow_error"]
    assert run.error.node == "bad"
    assert [call.aborted for call in run.asked("slow")] == [True]
    stopped = [call for call in run.calls if call.node_id == "slow"]
    assert [call.error.code for call in stopped if call.error] == ["CANCELLED"]
    assert stopped[0].response == {"text": "so "}
    assert run.node("slow").usage.calls == 1


async def test_given_a_budget_that_is_used_up_the_run_ends_with_what_there_is(studio: Studio) -> None:
    # given a budget that one answer uses up
    graph = studio.draw("in -> a -> b -> out")
    # when it runs
    run = await studio.run(graph, answers=["x" * 400, "never"], budget=Budget(tokens=50))
    # then the next call is not made, no node failed for it, and the partial result is told
    assert run.status is RunStatus.FAILED
    assert run.error.code == "BUDGET_EXCEEDED"
    assert run.statuses["b"] == "CANCELLED"
    assert run.end.partial == "x" * 400
    assert run.asked("b") == []
    # and the answer before was not allowed more than was left
    assert run.calls[0].request == {"messages": [{"role": "user", "content": "Do a."}], "maxTokens": 50}


async def test_given_a_budget_of_seconds_it_counts_driven_time(studio: Studio) -> None:
    # given a call that takes longer than the budget
    graph = studio.draw("in -> a -> b -> out")
    run = await studio.run(graph, answers={"a": [{"text": "A", "delayMs": 5_000}], "b": "B"}, budget=Budget(seconds=4))
    # then the call after it is not made
    assert run.error.code == "BUDGET_EXCEEDED"
    assert run.end.partial == "A"
    assert run.raw.usage.driven_seconds == 5


async def test_given_too_long_a_drive_the_run_ends(studio: Studio) -> None:
    # given a run that may be driven for an hour, and an answer that takes longer
    studio.limits = RunLimits(driven_seconds=3_600)
    graph = studio.draw("in -> a -> b -> out", a={"timeoutSeconds": 7_200})
    studio.hold("a")
    run_id = studio.accept(graph, answers={"a": "A", "b": "B"})
    task = studio.start(run_id)
    await settled()
    await studio.clock.advance(3_700)
    studio.let_go("a")
    await task
    # then the next call is not made
    run = studio.look(run_id)
    assert run.error.code == "RUN_TIMEOUT"
    assert run.end.partial == "A"
