"""Executing one node: retries, timeouts, what a failure means, what is kept of an output."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping

import pytest
from pydantic import JsonValue

from flyback.domain.events import EventType
from flyback.domain.run import RunStatus
from flyback.engine.ports import ChatReply, ChatRequest, Decider
from kit.clock import settled
from kit.studio import Data, Studio


class Broken:
    """A model entry with a bug."""

    name = "broken"
    has_price = False
    decider: Decider | None = None

    async def stream(self, request: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
        yield request.messages[0].text
        raise RuntimeError("a bug")


# Retries.


async def test_given_faults_that_can_pass_an_attempt_is_repeated_after_growing_waits(studio: Studio) -> None:
    # given a provider that fails three times
    graph = studio.draw("in -> a -> out")
    faults: list[Mapping[str, JsonValue]] = [{"httpError": 500}, {"httpError": 503}, {"httpError": 429}]
    # when it runs
    run = await studio.run(graph, answers={"a": [*faults, {"text": "at last"}]})
    # then the fourth attempt succeeds; each failed one was told and committed before its wait
    assert run.result == "at last"
    assert run.node("a").attempts == 4
    retries = [event.data for event in run.events_of(EventType.NODE_RETRY)]
    assert [(retry["attempt"], retry["waitMs"]) for retry in retries] == [(1, 500), (2, 1000), (3, 2000)]
    assert studio.clock.slept == [0.5, 1, 2]
    assert [(call.n, call.attempt, call.error.code if call.error else None) for call in run.calls] == [
        (1, 1, "MODEL_UNAVAILABLE"),
        (2, 2, "MODEL_UNAVAILABLE"),
        (3, 3, "MODEL_UNAVAILABLE"),
        (4, 4, None),
    ]
    assert run.node("a").usage.calls == 4


async def test_given_retry_after_it_is_waited_for_up_to_a_minute(studio: Studio) -> None:
    # given a provider that names how long to wait
    graph = studio.draw("in -> a -> out")
    replies: list[Mapping[str, JsonValue]] = [
        {"httpError": 429, "retryAfter": 7},
        {"httpError": 429, "retryAfter": 3600},
        {"text": "ok"},
    ]
    # when it runs, then it is believed, up to 60 s
    run = await studio.run(graph, answers={"a": replies})
    assert run.result == "ok"
    assert studio.clock.slept == [7, 60]


@pytest.mark.parametrize(("status", "code"), [(400, "MODEL_REFUSED"), (401, "MODEL_REFUSED"), (404, "MODEL_REFUSED")])
async def test_given_a_refusal_nothing_is_repeated(studio: Studio, status: int, code: str) -> None:
    run = await studio.run(studio.draw("in -> a -> out"), answers={"a": [{"httpError": status}]})
    assert run.node("a").attempts == 1
    assert run.failure("a").code == code


async def test_given_attempts_used_up_the_failure_says_how_many(studio: Studio) -> None:
    # given a node that may be tried twice
    graph = studio.draw("in -> a -> out", a={"maxRetries": 1})
    # when both fail
    run = await studio.run(graph, answers={"a": [{"httpError": 500}, {"httpError": 500}]})
    # then
    error = run.failure("a")
    assert error.code == "MODEL_UNAVAILABLE"
    assert "(2 attempts)" in error.message
    assert error.fix


async def test_given_a_silent_model_each_attempt_ends_at_the_nodes_timeout_and_its_call_is_aborted(
    studio: Studio,
) -> None:
    # given a node with a timeout below the model's own
    graph = studio.draw("in -> a -> out", a={"timeoutSeconds": 5, "maxRetries": 1})
    # when the model hangs
    run = await studio.run(graph, answers={"a": [{"hang": True}, {"hang": True}]})
    # then both attempts were cut at 5 s
    error = run.failure("a")
    assert (error.code, error.field) == ("NODE_TIMEOUT", "timeoutSeconds")
    assert studio.clock.seconds == 5 + 0.5 + 5
    assert [call.aborted for call in run.asked("a")] == [True, True]
    assert [call.error.code for call in run.calls if call.error] == ["CANCELLED", "CANCELLED"]


async def test_given_a_timeout_that_is_not_reached_nothing_happens(studio: Studio) -> None:
    graph = studio.draw("in -> a -> out", a={"timeoutSeconds": 5})
    run = await studio.run(graph, answers={"a": [{"text": "just in time", "delayMs": 4_900}]})
    assert run.result == "just in time"


async def test_given_a_script_without_a_reply_left_the_call_fails_at_once(studio: Studio) -> None:
    run = await studio.run(studio.draw("in -> a -> out"))
    assert run.failure("a").code == "SCRIPT_EXHAUSTED"


# Strategies.


async def test_given_skip_the_default_is_written_and_the_run_goes_on(studio: Studio) -> None:
    # given a node that may be skipped
    graph = studio.draw(
        "in -> a -> b -> out",
        a={"failStrategy": "skip", "defaultOutput": {"text": "n/a"}},
        b={"userPrompt": "{{a.text}}"},
    )
    # when it fails
    run = await studio.run(graph, answers={"a": [{"httpError": 400}], "b": "B"})
    # then its record stays FAILED with its error, and what follows sees the default
    assert run.status is RunStatus.SUCCESS
    assert run.statuses["a"] == "FAILED"
    assert run.node("a").error is not None
    assert run.node("a").handle == "output"
    assert run.prompts_of("b") == ["n/a"]


async def test_given_skip_without_a_default_nothing_is_written(studio: Studio) -> None:
    graph = studio.draw("in -> a -> b -> out", a={"failStrategy": "skip"}, b={"userPrompt": "{{a.text}}"})
    run = await studio.run(graph, answers={"a": [{"httpError": 400}], "b": "B"})
    assert run.node("a").envelope is None
    assert run.prompts_of("b") == ["{{a.text}}"]


@pytest.mark.parametrize(
    ("default", "result"),
    [(None, "otherwise"), ({"branch": "branch-0"}, "first"), ({"branch": "branch-7"}, "otherwise")],
)
async def test_given_skip_a_condition_goes_on_by_the_branch_of_its_default_or_by_else(
    studio: Studio, default: JsonValue, result: str
) -> None:
    graph = studio.draw(
        "in -> c; c -[branch-0]-> first -> out; c -[branch-1]-> otherwise -> out",
        c={
            "type": "condition",
            "conditions": [{"type": "IF", "expression": "it rains"}],
            "failStrategy": "skip",
            "defaultOutput": default,
        },
    )
    run = await studio.run(graph, answers={"c": [{"httpError": 400}], "first": "first", "otherwise": "otherwise"})
    assert (run.statuses["c"], run.result) == ("FAILED", result)


async def test_given_skip_a_form_that_nobody_answered_goes_on_by_the_action_of_its_default(studio: Studio) -> None:
    graph = studio.draw(
        "in -> form; form -[action-yes]-> out; form -[action-no]-> other",
        form={
            "type": "humanInput",
            "actions": [{"id": "yes"}, {"id": "no"}],
            "timeout": 60,
            "failStrategy": "skip",
            "defaultOutput": {"action": "no"},
        },
        other={"template": "{{form.action}}"},
    )
    run_id = studio.accept(graph)
    await studio.go_on(run_id)
    await studio.clock.advance(61)
    (late,) = studio.log.expire()
    run = await studio.go_on(late.run_id)
    assert (run.statuses["form"], run.statuses["out"], run.result) == ("FAILED", "SKIPPED", "no")


async def test_given_branch_the_error_is_written_and_its_edge_followed(studio: Studio) -> None:
    # given a node with an error edge
    graph = studio.draw(
        "in -> a -> out; a -[error]-> mend -> out",
        a={"failStrategy": "branch"},
        mend={"userPrompt": "{{a.error.code}}: {{a__error}}"},
    )
    # when it fails
    run = await studio.run(graph, answers={"a": [{"httpError": 400}], "mend": "mended"})
    # then that edge is followed, and the error is a variable
    assert run.result == "mended"
    assert run.statuses["a"] == "FAILED"
    assert run.node("a").handle == "error"
    error = run.output("a")["error"]
    assert isinstance(error, dict)
    assert error.keys() == {"message", "type", "code"}
    assert error["code"] == "MODEL_REFUSED"
    assert run.prompts_of("mend")[0].startswith("MODEL_REFUSED: {")


async def test_given_branch_and_success_the_error_edge_is_not_followed(studio: Studio) -> None:
    graph = studio.draw("in -> a -> out; a -[error]-> mend -> out", a={"failStrategy": "branch"})
    run = await studio.run(graph, answers={"a": "A"})
    assert run.statuses["mend"] == "SKIPPED"
    assert run.result == "A"


@pytest.mark.parametrize("strategy", ["abort", "branch", "", None])
async def test_given_abort_or_no_error_edge_or_no_strategy_the_run_ends(studio: Studio, strategy: str | None) -> None:
    graph = studio.draw("in -> a -> out", a={"failStrategy": strategy})
    run = await studio.run(graph, answers={"a": [{"httpError": 400}]})
    assert run.error.code == "NODE_FAILED"
    assert run.node("a").envelope is None


# What is kept.


async def test_given_an_output_that_json_cannot_carry_it_is_mended_and_marked(studio: Studio) -> None:
    # given a model that answers with a NUL and half a character
    run = await studio.run(studio.draw("in -> a -> out"), answers={"a": [{"textEscaped": "a\\u0000b\\ud800c"}]})
    # then both became U+FFFD
    assert run.output("a") == {"text": "a\ufffdb\ufffdc"}
    assert run.meta("a")["mended"]


async def test_given_an_output_beyond_the_limit_the_node_fails(studio: Studio) -> None:
    run = await studio.run(studio.draw("in -> a -> out"), answers={"a": "x" * (5 * 1024 * 1024 + 1)})
    assert run.failure("a").code == "OUTPUT_TOO_LARGE"


async def test_given_names_that_resolve_to_nothing_they_stay_and_are_listed(studio: Studio) -> None:
    graph = studio.draw("in -> a -> out", a={"userPrompt": "{{q}} {{missing}} {{maybe?}}!"})
    run = await studio.run(graph, inputs={"q": "tides"}, answers={"a": "A"})
    assert run.prompts_of("a") == ["tides {{missing}} !"]
    assert run.meta("a")["unresolved"] == ["missing"]
    assert run.node("a").inputs == {"q": "tides"}


async def test_given_settings_that_cannot_be_used_the_node_says_which(studio: Studio) -> None:
    graph = studio.draw("in -> a -> out", a={"temperature": "warm"})
    run = await studio.run(graph, answers={"a": "A"})
    error = run.failure("a")
    assert (error.code, error.node, error.field) == ("INVALID", "a", "temperature")


async def test_given_a_model_that_does_not_exist_nothing_is_repeated(studio: Studio) -> None:
    run = await studio.run(studio.draw("in -> a -> out", a={"model": "glm-9"}))
    assert run.failure("a").code == "MODEL_UNKNOWN"
    assert run.node("a").attempts == 1


async def test_given_a_fault_of_our_own_the_node_fails_with_internal_and_the_log_tells(
    studio: Studio, caplog: pytest.LogCaptureFixture
) -> None:
    # given a model entry that is broken in itself
    studio.shelf.models["broken"] = Broken()
    # when it is asked
    run = await studio.run(studio.draw("in -> a -> out", a={"model": "broken"}))
    # then the run ends in order
    error = run.failure("a")
    assert error.code == "INTERNAL"
    assert "a bug" in error.message
    assert run.status is RunStatus.FAILED
    assert "a bug" in caplog.text


# Live text.


async def test_given_a_stream_people_see_it_form_and_a_new_attempt_starts_from_nothing(studio: Studio) -> None:
    # given an answer in pieces, after an attempt that broke
    graph = studio.draw("in -> a -> out")
    replies: list[Data] = [{"httpError": 500}, {"stream": ["one ", "two ", "three"], "everyMs": 10}]
    # when it runs
    run = await studio.run(graph, answers={"a": replies})
    # then each attempt began with an empty snapshot, and the pieces add up
    texts = studio.watcher.texts
    assert [(text.attempt, text.text) for text in texts if text.whole] == [(1, ""), (2, "")]
    assert studio.watcher.shown("a") == "one two three" == run.result
    assert {(text.source, text.visit_id) for text in texts} == {("node", None)}


async def test_given_pieces_in_quick_succession_they_are_gathered(studio: Studio) -> None:
    # given a hundred pieces at once
    pieces: list[JsonValue] = ["x"] * 100
    many: Data = {"stream": pieces}
    run = await studio.run(studio.draw("in -> a -> out"), answers={"a": many})
    # then people got them in a few
    assert run.result == "x" * 100
    assert studio.watcher.shown("a") == "x" * 100
    assert len(studio.watcher.texts) < 10


async def test_given_a_stall_the_first_piece_is_shown_at_once(studio: Studio) -> None:
    # given a stream that stalls after its first piece
    run_id = studio.accept(
        studio.draw("in -> a -> out"), answers={"a": [{"stream": ["so", " far"], "everyMs": 50_000}]}
    )
    task = studio.start(run_id)
    await settled()
    # then
    assert studio.watcher.shown("a") == "so"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
