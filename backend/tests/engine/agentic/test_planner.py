"""Asking the planner: what it answers, what it cannot answer, and what is recorded."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence

import pytest
from pydantic import JsonValue

from engine.agentic.drawings import graph_of
from engine.agentic.stage import Stage, planner_prompts, planner_text
from flyback.domain.decision import Decision, Rejected
from flyback.domain.errors import ModelUnavailableError
from flyback.domain.events import EventType
from flyback.domain.run import RunStatus, Usage
from flyback.engine.ports import CallSite, ChatReply, ChatRequest, Decider, Verdict
from kit.studio import Reply, SeenRun

CHAIN = graph_of("A -> B; B -> out", data={"B": {"label": "Second step"}})
ANSWERS: Mapping[str, Sequence[str]] = {"A": ["a1", "a2"], "B": ["b1", "b2"]}


async def decide(*replies: Reply) -> tuple[Decision, SeenRun]:
    """Run with these answers of the planner after A, and return its first decision."""
    run = await Stage().run(CHAIN, planner=[*replies, "out", "out"], answers=ANSWERS)
    decision = run.visits[0].decision
    assert decision is not None
    return decision, run


@pytest.mark.parametrize(
    "text",
    [
        '{"next": "B", "reason": "go on"}',
        '```json\n{"next": "B", "reason": "go on"}\n```',
        'I think {"next": "zzz"} is silly. {"next": "B", "reason": "go on",}',
        '<think>Maybe {"next": "out", "reason": "quick"}?</think>\n{"next": "B", "reason": "go on"}',
        '{"next": "Second step", "reason": "go on"}',
        '{"next": " b ", "reason": "go on"}',
    ],
)
async def test_an_answer_that_names_a_node_is_taken_at_once(text: str) -> None:
    decision, run = await decide({"text": text})
    assert (decision.next, decision.reason, decision.source) == ("B", "go on", "planner")
    assert (decision.method, decision.model, decision.attempts) == ("json", "scripted", 1)
    assert decision.rejected == ()
    assert decision.cause is None
    assert decision.usage.calls == 1
    assert run.path == ["A", "B", "out"]


async def test_an_unknown_node_is_asked_again_with_the_error_told_to_the_model() -> None:
    decision, run = await decide({"next": "zzz", "reason": "?"}, {"next": "B", "reason": "sorry"})
    assert (decision.next, decision.source, decision.attempts, decision.usage.calls) == ("B", "planner", 2, 2)
    assert decision.rejected == (Rejected('{"next": "zzz", "reason": "?"}', "there is no node 'zzz' in the list"),)
    again = planner_prompts(run)[1]
    assert '{"next": "zzz", "reason": "?"}' in again
    assert "there is no node 'zzz' in the list" in again


async def test_garbage_twice_falls_back_to_the_drawing_and_says_why() -> None:
    decision, run = await decide({"text": "no idea"}, {"text": "still none"})
    assert (decision.next, decision.source, decision.on_canvas) == ("B", "fallback", True)
    assert decision.cause == 'the answer holds no JSON object {"next": …}'
    assert decision.reason == f"Planner failed ({decision.cause}): followed the first drawn edge"
    assert [one.answer for one in decision.rejected] == ["no idea", "still none"]
    assert (decision.attempts, decision.usage.calls, decision.method) == (2, 2, None)
    # and everybody can see it
    event = run.events_of(EventType.PLANNER_DECISION)[0].data
    assert (event["source"], event["cause"], event["next"]) == ("fallback", decision.cause, "B")


async def test_a_rejected_answer_is_kept_and_cut_where_it_is_endless() -> None:
    decision, _ = await decide({"text": "x\x00" * 5000}, "B")
    assert decision.rejected[0].answer == "x\ufffd" * 1000 + "..."


async def test_a_failed_call_is_tried_once_more_after_a_moment_and_then_falls_back() -> None:
    stage = Stage()
    run = await stage.run(
        CHAIN, planner=[{"httpError": 500}, {"httpError": 429, "retryAfter": 7}, "out"], answers=ANSWERS
    )
    decision = run.visits[0].decision
    assert decision is not None
    assert (decision.source, decision.attempts, decision.next) == ("fallback", 2, "B")
    assert decision.cause is not None
    assert decision.cause.startswith("MODEL_UNAVAILABLE")
    assert stage.clock.slept == [0.5]
    assert [one.answer for one in decision.rejected] == ["", ""]


async def test_a_provider_that_asks_for_time_is_given_it() -> None:
    stage = Stage()
    run = await stage.run(CHAIN, planner=[{"httpError": 429, "retryAfter": 7}, "B", "out"], answers=ANSWERS)
    decision = run.visits[0].decision
    assert decision is not None
    assert (decision.source, decision.attempts, decision.latency_ms) == ("planner", 2, 7000)
    assert stage.clock.slept == [7.0]


async def test_an_unknown_planner_model_is_not_asked_again() -> None:
    run = await Stage().run(CHAIN, planner=[], answers=ANSWERS, planner_model="nobody")
    decision = run.visits[0].decision
    assert decision is not None
    assert (decision.source, decision.attempts, decision.usage.calls) == ("fallback", 0, 0)
    assert decision.cause is not None
    assert decision.cause.startswith("MODEL_UNKNOWN")
    assert run.path == ["A", "B", "out"]
    assert run.status is RunStatus.SUCCESS


async def test_a_branch_that_was_not_chosen_is_never_followed_by_a_fallback() -> None:
    graph = graph_of(
        "A -> if; if -[branch-0]-> B; if -[branch-1]-> C; B -> out; C -> out",
        nodes={"if": "condition"},
        data={"if": {"conditions": [{"type": "IF", "expression": "It rains"}]}},
    )
    run = await Stage().run(
        graph, planner=["if"], answers={"A": "a", "if": {"branch": "branch-1", "reason": "dry"}, "C": "c", "B": "b"}
    )
    assert run.path == ["A", "if", "C", "out"]
    sources = [visit.decision.source for visit in run.visits if visit.decision]
    assert sources == ["planner", "fallback", "fallback"]


async def test_the_planner_has_its_own_model_and_its_usage_is_counted_apart_and_in_the_sum() -> None:
    run = await Stage().run(CHAIN, planner=["B", "out"], answers=ANSWERS)
    usage = run.raw.usage
    assert (usage.planner.calls, usage.total.calls) == (2, 4)
    visits = [visit.visit.usage for visit in run.visits]
    assert [one.calls for one in visits] == [1, 1, 0]
    assert usage.total.tokens == usage.planner.tokens + sum(one.tokens for one in visits)


async def test_what_was_sent_and_what_came_back_can_be_looked_at_later() -> None:
    run = await Stage().run(CHAIN, planner=[{"text": "hm"}, "B", "out"], answers=ANSWERS)
    calls = [call for call in run.calls if call.role == "planner"]
    assert [(call.node_id, call.n, call.attempt) for call in calls] == [("A", 1, 1), ("A", 2, 2), ("B", 1, 1)]
    assert calls[0].visit_id == run.visits[0].visit.visit_id
    assert calls[0].response == {"text": "hm"}
    assert isinstance(calls[0].request, dict)
    assert {"messages", "schema"} <= set(calls[0].request)


async def test_the_prompt_is_logged_at_debug_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", logger="flyback.engine.agentic.planner")
    await Stage().run(CHAIN, planner=["out"], answers=ANSWERS)
    assert "## Nodes you may choose" in caplog.text


# What people see while it thinks.


async def test_people_see_the_reason_form_and_nothing_else() -> None:
    stage = Stage()
    pieces: list[JsonValue] = [
        "<think>{",
        '"reason": "no"}</think>',
        '{"next": "B", "rea',
        'son": "to be\\n',
        'sure"',
        "}",
    ]
    run = await stage.run(CHAIN, planner=[{"stream": pieces, "everyMs": 40}, "out"], answers=ANSWERS)
    shown = planner_text(stage, run.visits[0].visit.visit_id)
    assert shown[0] == ""
    assert "".join(shown) == "to be\nsure"


async def test_a_second_try_begins_with_an_empty_text() -> None:
    stage = Stage()
    run = await stage.run(
        CHAIN, planner=[{"next": "zzz", "reason": "lost"}, {"next": "B", "reason": "found"}, "out"], answers=ANSWERS
    )
    first = run.visits[0].visit.visit_id
    texts = [
        (text.attempt, text.text, text.whole)
        for text in stage.watcher.texts
        if text.source == "planner" and text.visit_id == first
    ]
    assert texts == [(1, "", True), (1, "lost", False), (2, "", True), (2, "found", False)]


async def test_the_planner_is_asked_while_the_visit_is_stored_and_shown_only_afterwards() -> None:
    # given a ledger that takes its time
    stage = Stage()
    run_id = stage.accept(CHAIN, planner=["B", "out"], answers=ANSWERS)
    stage.watched.held_from_step = 2
    task = stage.start(run_id)
    await stage.settle()
    # then the planner has answered already, and nobody has seen it
    assert len(planner_prompts(stage.look(run_id))) == 1
    assert [text for text in stage.watcher.texts if text.source == "planner"] == []
    assert stage.look(run_id).story == ["run_started", "A RUNNING"]
    # when the visit is stored
    stage.watched.go_on.set()
    await stage.clock.run_through(task)
    # then it is shown, and done
    assert "".join(planner_text(stage, stage.look(run_id).visits[0].visit.visit_id)) == "on to B"
    assert stage.look(run_id).path == ["A", "B", "out"]


async def test_a_driver_that_lost_its_run_stops_the_planner_and_writes_nothing() -> None:
    # given a planner at work, and a commit that waits
    stage = Stage()
    run_id = stage.accept(CHAIN, planner=["B", "out"], answers=ANSWERS)
    stage.watched.held_from_step = 2
    stage.planner_may_answer.clear()
    task = stage.start(run_id)
    await stage.settle()
    # when somebody cancels the run meanwhile
    stage.log.cancel(run_id, "ada")
    stage.watched.go_on.set()
    await stage.clock.run_through(task)
    # then the call was given up, and nothing came after the end
    (call,) = stage.look(run_id).asked("A", role="planner")
    assert (call.ended, call.aborted) == (True, True)
    assert stage.look(run_id).story[-1] == "run_cancelled"


# The embedded model.


class Judge:
    """A model that is asked by likelihood."""

    name = "embedded"
    has_price = False

    def __init__(self, scores: Mapping[str, float], *, failures: int = 0) -> None:
        self._scores = scores
        self._failures = failures
        self.asked = 0

    @property
    def decider(self) -> Decider:
        return self

    async def decide(self, text: str, claims: Sequence[str], *, site: CallSite) -> Verdict:
        self.asked += 1
        if self._failures:
            self._failures -= 1
            raise ModelUnavailableError("the model's host has ended", node=site.node_id)
        scores = [
            next((score for name, score in self._scores.items() if claim.endswith(name)), -1.0) for claim in claims
        ]
        return Verdict(scores, Usage(50, 0, calls=1), "a small model")

    async def stream(self, request: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
        yield "because"
        yield ChatReply("because", "stop", Usage(10, 2, calls=1), "a small model")


SMALL = graph_of("ask -> A; A -> B; B -> out", nodes={"ask": "userInput"})


async def judged(judge: Judge) -> SeenRun:
    stage = Stage()
    stage.shelf.models["embedded"] = judge
    return await stage.run(SMALL, planner=[], answers={"A": "a", "B": "b"}, planner_model="embedded")


async def test_the_embedded_model_is_asked_by_likelihood_under_the_same_record() -> None:
    run = await judged(Judge({"out": 2.0, "B": 0.5}))
    assert run.path == ["ask", "A", "out"]
    decision = run.visits[1].decision
    assert decision is not None
    assert (decision.source, decision.method, decision.reason, decision.on_canvas) == (
        "planner",
        "likelihood",
        "because",
        False,
    )
    assert decision.scores is not None
    assert list(decision.scores)[:2] == ["out", "B"]
    assert decision.margin == 1.5
    assert decision.usage.calls == 2


async def test_where_there_is_nothing_to_choose_the_embedded_model_is_spared() -> None:
    judge = Judge({"out": 2.0})
    run = await judged(judge)
    decision = run.visits[0].decision
    assert decision is not None
    assert (decision.next, decision.source, decision.usage.calls, decision.attempts) == ("A", "only_choice", 0, 0)
    assert judge.asked == 1


async def test_other_models_are_asked_after_every_visit_but_the_last() -> None:
    run = await Stage().run(SMALL, planner=["A", "out"], answers={"A": "a"})
    assert len(planner_prompts(run)) == 2


async def test_a_judge_that_fails_twice_falls_back() -> None:
    run = await judged(Judge({}, failures=2))
    decision = run.visits[1].decision
    assert decision is not None
    assert (decision.source, decision.next, decision.attempts) == ("fallback", "B", 2)
    assert decision.model == "embedded"
