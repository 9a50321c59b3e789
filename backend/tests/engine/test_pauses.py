"""Nodes that ask a person: the run waits as a row, and goes on where it asked."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import JsonValue

from flyback.domain.answering import Given
from flyback.domain.errors import InputInvalidError, PauseAnsweredError, PauseClosedError
from flyback.domain.pause import PauseStatus
from flyback.domain.run import RunId, RunStatus, StepStatus
from kit.clock import settled
from kit.studio import Data, SeenRun, Studio

ASK: Data = {"variables": [{"name": "topic"}]}
REVIEW: Data = {
    "type": "humanInput",
    "prompt": "Is this fine? {{draft.text}}",
    "form": [{"name": "remark", "label": "Remark", "type": "string", "default": "none"}],
    "actions": [{"id": "yes", "label": "Fine"}, {"id": "no", "label": "Again"}],
}


def _review(**more: JsonValue) -> Data:
    return {**REVIEW, **more}


async def _asked(studio: Studio, review: Data = REVIEW, *, agentic: bool = True) -> SeenRun:
    graph = studio.draw(
        "ask -> draft -> review; review -[action-yes]-> out; review -[action-no]-> other; review -[timeout]-> late",
        ask=ASK,
        review=review,
        out={"template": "{{review.action}}: {{review.remark}}"},
        other={"type": "output", "template": "again: {{review.remark}}"},
        late={"type": "output", "template": "late"},
    )
    planner = ["draft", "review", "out"] if agentic else None
    return await studio.run(graph, inputs={"topic": "tides"}, planner=planner, answers={"draft": "a draft"})


def _yes(remark: str = "good") -> Given:
    return Given([("remark", remark)], action="yes")


async def test_in_agentic_mode_a_pause_is_told_in_one_step_and_an_answer_goes_on_with_the_visit(studio: Studio) -> None:
    # given a visit that asks
    run = await _asked(studio)
    assert run.status is RunStatus.PAUSED
    assert run.story[-3:] == ["clarify_request", "review PAUSED", "run_paused"]
    assert run.pauses[0].ask.prompt == "Is this fine? a draft"
    # when a person answers
    told = len(run.story)
    run = await studio.answer(run.raw.run_id, given=_yes())
    # then the same visit goes on, and the run with it
    assert run.story[told : told + 5] == [
        "clarify_answered",
        "run_resumed",
        "review RUNNING",
        "review SUCCESS",
        "visit_recorded",
    ]
    assert run.path == ["ask", "draft", "review", "out"]
    assert run.result == "yes: good"


async def test_in_dag_mode_the_chosen_action_is_the_way_on(studio: Studio) -> None:
    run = await _asked(studio, agentic=False)
    assert run.story[-3:] == ["clarify_request", "review PAUSED", "run_paused"]
    run = await studio.answer(run.raw.run_id, given=Given([("remark", "too dry")], action="no"))
    assert run.results == {"other": "again: too dry"}
    assert run.statuses["out"] == "SKIPPED"


async def test_nothing_that_ran_before_the_question_runs_again(studio: Studio) -> None:
    run = await _asked(studio)
    run = await studio.answer(run.raw.run_id, given=_yes())
    assert len(run.asked("draft")) == 1


async def test_the_same_answer_again_changes_nothing_and_another_one_is_shown_the_first(studio: Studio) -> None:
    # given a question that was answered
    run = await _asked(studio)
    pause_id = run.pauses[0].pause_id
    run = await studio.answer(run.raw.run_id, given=_yes())
    told = len(run.story)
    # when the same is said again, and then something else
    studio.log.answer(pause_id, _yes(), by="another")
    with pytest.raises(PauseAnsweredError) as refused:
        studio.log.answer(pause_id, _yes("bad"), by="another")
    # then nothing has happened, and the second one sees what counts
    assert len(run.story) == told
    assert isinstance(refused.value.current, dict)
    assert refused.value.current["answers"] == [{"questionId": "remark", "value": "good"}]
    assert refused.value.current["answeredBy"] == "somebody"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (Given([("remark", "x")]), "action"),
        (Given([("remark", "x")], action="maybe"), "action"),
        (Given([("colour", "x")], action="yes"), "answers.0"),
        (Given([("remark", {"a": 1})], action="yes"), "remark"),
    ],
    ids=["no action", "unknown action", "unknown question", "wrong type"],
)
async def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays_open(
    given: Given, field: str, studio: Studio
) -> None:
    run = await _asked(studio)
    with pytest.raises(InputInvalidError) as refused:
        studio.log.answer(run.pauses[0].pause_id, given, by="somebody")
    assert refused.value.faults[0].field == field if refused.value.faults else refused.value.field == field
    assert studio.open_pause(run.raw.run_id)


async def test_waiting_counts_against_nothing(studio: Studio) -> None:
    run = await _asked(studio)
    used = run.raw.usage.driven_seconds
    await studio.clock.advance(48 * 3600)
    run = await studio.answer(run.raw.run_id, given=_yes())
    assert run.status is RunStatus.SUCCESS
    assert run.raw.usage.driven_seconds == used


async def test_a_run_that_waits_can_be_cancelled_and_its_question_is_closed(studio: Studio) -> None:
    run = await _asked(studio)
    studio.log.cancel(run.raw.run_id, by="somebody")
    run = studio.look(run.raw.run_id)
    assert run.pauses[0].status is PauseStatus.CANCELLED
    assert run.story[-3:] == ["review CANCELLED", "visit_recorded", "run_cancelled"]
    with pytest.raises(PauseClosedError):
        studio.log.answer(run.pauses[0].pause_id, _yes(), by="somebody")


async def _late(studio: Studio, way: str, *, agentic: bool) -> SeenRun:
    run = await _asked(studio, _review(timeout=3600, onTimeout=way), agentic=agentic)
    await studio.clock.advance(3601)
    (late,) = studio.log.expire()
    assert studio.log.expire() == []
    with pytest.raises(PauseClosedError):
        studio.log.answer(run.pauses[0].pause_id, _yes(), by="somebody")
    return await studio.go_on(late.run_id)


async def test_nobody_in_time_is_a_failure_where_the_node_says_nothing_else(studio: Studio) -> None:
    run = await _late(studio, "fail", agentic=False)
    assert run.failure("review").code == "ANSWER_TIMEOUT"
    assert run.status is RunStatus.FAILED


async def test_nobody_in_time_takes_the_defaults_and_the_first_action_where_the_node_says_so(studio: Studio) -> None:
    run = await _late(studio, "default", agentic=True)
    assert run.result == "yes: none"
    assert "pause_expired" in run.story


async def test_nobody_in_time_leaves_by_the_timeout_where_the_node_says_so(studio: Studio) -> None:
    run = await _late(studio, "route", agentic=False)
    assert run.results == {"late": "late"}


def _two(studio: Studio, *, slow: bool = False) -> RunId:
    """Two questions side by side, and a node beside them that may be slow."""
    graph = studio.draw(
        "ask -> x; ask -> y; ask -> slow; x -> out; y -> out; slow -> out",
        ask=ASK,
        x={"type": "humanInput", "form": [{"name": "colour", "required": True}]},
        y={"type": "humanInput", "form": [{"name": "colour", "required": True}]},
        out={"template": "{{x.colour}} {{y.colour}} {{slow.text}}"},
    )
    if slow:
        studio.hold("slow")
    return studio.accept(graph, inputs={"topic": "tides"}, answers={"slow": "done"})


async def test_two_questions_at_once_are_told_apart_and_one_answer_lets_the_run_rest_again(studio: Studio) -> None:
    run_id = _two(studio)
    run = await studio.go_on(run_id)
    assert (run.status, run.statuses["slow"]) == (RunStatus.PAUSED, "SUCCESS")
    run = await studio.answer(run_id, node="y", given=Given(answer="blue"))
    assert (run.status, run.statuses["y"], run.statuses["x"]) == (RunStatus.PAUSED, "SUCCESS", "PAUSED")
    run = await studio.answer(run_id, node="x", given=Given(answer="red"))
    assert run.result == "red blue done"
    assert run.story.count("run_paused") == run.story.count("run_resumed") == 2


async def test_two_answers_at_once_start_one_segment(studio: Studio) -> None:
    run_id = _two(studio)
    await studio.go_on(run_id)
    segment = studio.log.run(run_id).segment
    for node, colour in (("x", "red"), ("y", "blue")):
        studio.log.answer(studio.open_pause(run_id, node).pause_id, Given(answer=colour), by="somebody")
    assert studio.log.run(run_id).segment == segment + 1
    run = await studio.go_on(run_id)
    assert run.result == "red blue done"


async def test_an_answer_is_taken_up_while_another_node_is_still_at_work(studio: Studio) -> None:
    # given a run in which two nodes ask and one works
    run_id = _two(studio, slow=True)
    driving = studio.start(run_id)
    await studio.asked["slow"].wait()
    await settled()
    assert studio.log.run(run_id).status is RunStatus.RUNNING
    assert "run_paused" not in studio.look(run_id).story
    # when one of them is answered
    studio.log.answer(studio.open_pause(run_id, "x").pause_id, Given(answer="red"), by="somebody")
    await settled()
    # then it goes on beside the work, in the same segment
    assert studio.look(run_id).statuses["x"] == "SUCCESS"
    assert studio.log.run(run_id).segment == 0
    # and when the work is done the run rests for the other
    studio.let_go("slow")
    await studio.clock.run_through(driving)
    run = studio.look(run_id)
    assert (run.status, run.story[-1]) == (RunStatus.PAUSED, "run_paused")
    run = await studio.answer(run_id, node="y", given=Given(answer="blue"))
    assert run.result == "red blue done"


async def test_given_a_death_while_a_question_is_open_when_another_goes_on_then_the_work_is_taken_up_and_the_question_stays(
    studio: Studio,
) -> None:
    # given a driver that dies while a node works and two questions are open
    run_id = _two(studio, slow=True)
    driving = studio.start(run_id)
    await studio.asked["slow"].wait()
    await settled()
    driving.cancel()
    await asyncio.gather(driving, return_exceptions=True)
    # when an answer comes before the next driver
    studio.log.answer(studio.open_pause(run_id, "x").pause_id, Given(answer="red"), by="somebody")
    studio.let_go("slow")
    run = await studio.go_on(run_id)
    # then the work and the answer are taken up, and the other question is still there
    assert (run.statuses["slow"], run.statuses["x"], run.statuses["y"]) == ("SUCCESS", "SUCCESS", "PAUSED")
    run = await studio.answer(run_id, node="y", given=Given(answer="blue"))
    assert run.result == "red blue done"


async def test_a_failure_elsewhere_closes_what_waits(studio: Studio) -> None:
    graph = studio.draw(
        "ask -> x; ask -> bad; x -> out; bad -> out", ask=ASK, x={"type": "humanInput"}, out={"template": "-"}
    )
    run = await studio.run(graph, inputs={"topic": "t"}, answers={"bad": {"httpError": 400}})
    assert run.status is RunStatus.FAILED
    assert run.node("x").status is StepStatus.CANCELLED
    assert run.pauses[0].status is PauseStatus.CANCELLED


async def test_each_visit_asks_anew(studio: Studio) -> None:
    graph = studio.draw("ask -> review -> out", ask=ASK, review={"type": "humanInput", "form": [{"name": "word"}]})
    run = await studio.run(graph, inputs={"topic": "t"}, planner=["review", "review", "out"])
    run = await studio.answer(run.raw.run_id, given=Given(answer="one"))
    assert run.status is RunStatus.PAUSED
    run = await studio.answer(run.raw.run_id, given=Given(answer="two"))
    assert [visit.data["word"] for visit in run.visits_of("review")] == ["one", "two"]
