"""The userInput node: the run's inputs at its first visit, then what was queued for it."""

from __future__ import annotations

from flyback.domain.answering import Given
from flyback.domain.run import RunStatus
from kit.studio import Data, Studio

ASK: Data = {
    "variables": [
        {"name": "topic", "type": "string", "required": True},
        {"name": "tone", "type": "string", "default": "plain"},
        {"name": "length", "type": "integer"},
    ]
}


async def test_the_first_visit_takes_the_runs_inputs_converted_and_with_defaults(studio: Studio) -> None:
    graph = studio.draw("ask -> out", ask=ASK)
    run = await studio.run(graph, inputs={"topic": "tides", "length": "3"})
    assert run.output("ask") == {"topic": "tides", "tone": "plain", "length": 3}


async def test_its_variables_stand_under_both_names(studio: Studio) -> None:
    graph = studio.draw("ask -> a -> out", ask=ASK, a={"userPrompt": "{{topic}} {{ask.topic}} {{ask__topic}}"})
    run = await studio.run(graph, inputs={"topic": "tides"}, answers=["A"])
    assert run.prompts_of("a") == ["tides tides tides"]


async def test_where_a_required_value_is_missing_the_queue_answers(studio: Studio) -> None:
    graph = studio.draw("ask -> out", ask=ASK)
    run = await studio.run(graph, queued={"ask": [{"topic": "winds"}]})
    assert run.output("ask")["topic"] == "winds"
    assert run.meta("ask") == {"queued": 1}


async def test_where_nobody_has_given_what_is_required_it_asks_the_person(studio: Studio) -> None:
    # given a run that lacks its topic
    run = await studio.run(studio.draw("ask -> out", ask=ASK))
    assert run.status is RunStatus.PAUSED
    (pause,) = run.pauses
    assert [question.id for question in pause.ask.questions] == ["topic", "tone", "length"]
    # when the person gives it
    run = await studio.answer(run.raw.run_id, given=Given([("topic", "tides"), ("length", "3")]))
    # then it is read like an input
    assert run.output("ask") == {"topic": "tides", "tone": "plain", "length": 3}
    assert run.status is RunStatus.SUCCESS


async def test_a_later_user_input_runs_when_its_turn_comes_and_takes_the_inputs_too(studio: Studio) -> None:
    graph = studio.draw("start -> check -> out", check={"type": "userInput", **ASK})
    run = await studio.run(graph, inputs={"topic": "tides"})
    assert run.output("check")["topic"] == "tides"


async def test_each_later_visit_takes_the_next_entry_and_then_asks_telling_why(studio: Studio) -> None:
    # given a planner that sends the run back to the person twice more
    graph = studio.draw("ask -> a -> out", ask=ASK, a={"userPrompt": "{{topic}}"})
    run = await studio.run(
        graph,
        inputs={"topic": "first"},
        queued={"ask": [{"topic": "second"}]},
        planner=["a", "ask", "a", {"next": "ask", "reason": "which bay?"}, "a", "out"],
        answers={"a": ["1", "it depends on the bay", "3"]},
    )
    # then the first visit took the inputs, the second the entry, and the third asks, with the reason and the last output
    (pause,) = run.pauses
    assert pause.ask.prompt == "which bay?\n\nit depends on the bay"
    # and what was said before is filled in
    assert pause.ask.questions[0].variable is not None
    assert pause.ask.questions[0].variable.default == "second"
    # when the person answers
    run = await studio.answer(run.raw.run_id, given=Given([("topic", "third")]))
    # then the answer is what the person said last
    assert [visit.data.get("topic") for visit in run.visits_of("ask")] == ["first", "second", "third"]
    assert [prompt.partition("\n")[0] for prompt in run.prompts_of("a")] == ["first", "second", "third"]
    assert run.status is RunStatus.SUCCESS


async def test_a_first_visit_that_took_an_entry_leaves_the_next_one_to_the_second(studio: Studio) -> None:
    graph = studio.draw("ask -> a -> out", ask=ASK)
    run = await studio.run(
        graph,
        queued={"ask": [{"topic": "one"}, {"topic": "two"}]},
        planner=["ask", "out"],
    )
    assert [visit.data.get("topic") for visit in run.visits_of("ask")] == ["one", "two"]
