"""The llm node: two prompts, one call, a text or declared fields."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from flyback.domain.run import RunStatus
from kit.studio import Data, Studio

FIELDS: Data = {"outputs": [{"name": "title", "type": "string"}, {"name": "score", "type": "integer"}]}


async def test_it_sends_both_prompts_filled_in_with_its_settings(studio: Studio) -> None:
    graph = studio.draw(
        "in -> a -> out",
        a={"systemPrompt": "Be {{tone}}.", "userPrompt": "On {{topic}}.", "temperature": 0.2, "maxTokens": 99},
    )
    run = await studio.run(graph, inputs={"tone": "kind", "topic": "tides"}, answers=["ok"])
    assert run.calls[0].request == {
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "On tides."}],
        "temperature": 0.2,
        "maxTokens": 99,
    }
    assert run.calls[0].response == {"text": "ok"}


async def test_a_value_that_contains_braces_is_never_filled_in_again(studio: Studio) -> None:
    graph = studio.draw("in -> a -> out", a={"userPrompt": "{{q}}"})
    run = await studio.run(graph, inputs={"q": "{{secret}}", "secret": "TOP"}, answers=["ok"])
    assert run.prompts_of("a") == ["{{secret}}"]


@pytest.mark.parametrize(
    "answer",
    [
        '{"title": "Tides", "score": 3}',
        'Sure!\n```json\n{"title": "Tides", "score": "3",}\n```',
        "<think>{\"title\": \"no\", \"score\": 0}</think> {'title': 'Tides', 'score': 3}",
    ],
)
async def test_declared_outputs_are_read_leniently(studio: Studio, answer: str) -> None:
    graph = studio.draw("in -> a -> out", a=FIELDS)
    run = await studio.run(graph, answers=[answer])
    assert run.output("a") == {"title": "Tides", "score": 3}
    assert "JSON schema" in run.asked("a")[0].prompt[0].text


async def test_an_answer_that_cannot_be_read_is_asked_for_again(studio: Studio) -> None:
    graph = studio.draw("in -> a -> out", a=FIELDS)
    run = await studio.run(graph, answers={"a": ["no idea", '{"title": "T", "score": 1}']})
    assert run.output("a") == {"title": "T", "score": 1}
    assert run.node("a").attempts == 2


async def test_answers_that_never_can_be_read_fail_the_node_and_are_quoted(studio: Studio) -> None:
    graph = studio.draw("in -> a -> out", a={**FIELDS, "maxRetries": 1})
    run = await studio.run(graph, answers={"a": ["no idea", '{"title": "T"}']})
    error = run.failure("a")
    assert error.code == "MODEL_UNREADABLE"
    assert "'score' is missing" in error.message
    assert '{"title": "T"}' in error.message


async def test_a_schema_of_ones_own_gives_its_fields(studio: Studio) -> None:
    schema: JsonValue = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    graph = studio.draw("in -> a -> out", a={"outputSchema": schema})
    run = await studio.run(graph, answers=['{"other": 1} and {"n": 123456789012345678901234567890}'])
    assert run.output("a") == {"n": 123456789012345678901234567890}
    request = run.calls[0].request
    assert isinstance(request, dict)
    assert request["schema"] == schema


async def test_a_schema_of_a_list_gives_it_as_result(studio: Studio) -> None:
    graph = studio.draw("in -> a -> out", a={"outputSchema": {"type": "array"}})
    run = await studio.run(graph, answers=["```json\n[1, 2]\n```"])
    assert run.output("a") == {"result": [1, 2]}


@pytest.mark.parametrize(
    ("text", "reason", "said"),
    [
        ("", "length", "token limit"),
        (" \n", "length", "token limit"),
        ("<think>Well, the", "length", "token limit"),
        ("<think>Well.</think>\n", "length", "token limit"),
        ("", "content_filter", "filter held it back"),
    ],
)
async def test_an_empty_answer_that_was_cut_is_a_failure_and_not_asked_for_again(
    studio: Studio, text: str, reason: str, said: str
) -> None:
    graph = studio.draw("in -> w -> use -> out")
    run = await studio.run(graph, answers={"w": [{"text": text, "finishReason": reason}]})
    assert run.status is RunStatus.FAILED
    assert run.failure("w").code == "MODEL_EMPTY"
    assert said in run.failure("w").message
    assert run.asked("use") == []


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_text_that_was_cut_is_kept_and_marked(studio: Studio, reason: str) -> None:
    graph = studio.draw("in -> w -> out")
    run = await studio.run(graph, answers={"w": [{"text": "half an ans", "finishReason": reason}]})
    assert run.result == "half an ans"
    assert run.meta("w") == {"finishReason": reason, "cut": True}
    assert run.calls[0].finish_reason == reason


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("<think>Hm.\nWell.</think>\n\nThe tide.", "The tide."),
        ("\n<think></think><think>Hm.</think> The tide.", "The tide."),
        ("  The tide.\n", "  The tide.\n"),
        ("It writes <think>Hm.</think> first.", "It writes <think>Hm.</think> first."),
        ("<think>Hm", "<think>Hm"),
    ],
)
async def test_thinking_before_an_answer_is_no_part_of_it(studio: Studio, answer: str, text: str) -> None:
    run = await studio.run(studio.draw("in -> w -> out"), answers=[answer])
    assert run.output("w") == {"text": text}
    assert run.calls[0].response == {"text": answer}


# Revisits.


async def test_a_second_visit_is_told_why_it_was_sent(studio: Studio) -> None:
    # given a planner that is not content
    graph = studio.draw("ask -> draft -> out", draft={"userPrompt": "Write on {{topic}}."})
    run = await studio.run(
        graph,
        inputs={"topic": "tides"},
        planner=["draft", {"next": "draft", "reason": "too short"}, "out"],
        answers=["first draft", "second draft"],
    )
    # then the first visit is told nothing, and the second the reason and what it gave before
    first, second = run.prompts_of("draft")
    assert first == "Write on tides."
    assert second.startswith("Write on tides.\n\n## About this visit\n\n")
    assert "visit 3 of the run, and visit 2 of this node" in second
    assert "The planner sent you here because: too short" in second
    assert "What this node gave at its last visit:\nfirst draft" in second


async def test_in_a_chinese_workflow_it_is_told_in_chinese(studio: Studio) -> None:
    graph = studio.draw("ask -> draft -> out", draft={"userPrompt": "写一段关于{{topic}}的文字。"})
    run = await studio.run(
        graph,
        inputs={"topic": "潮汐"},
        planner=["draft", {"next": "draft", "reason": "太短"}, "out"],
        answers=["初稿", "第二稿"],
    )
    assert "Planner 派你来的原因：太短" in run.prompts_of("draft")[1]


@pytest.mark.parametrize("data", [{"tellRevisit": False}, {"systemPrompt": "Why: {{visit.reason}}"}])
async def test_it_is_not_told_where_the_prompt_asks_itself_or_the_switch_is_off(studio: Studio, data: Data) -> None:
    graph = studio.draw("ask -> draft -> out", draft={"userPrompt": "Write.", **data})
    planner: list[str | Data] = ["draft", {"next": "draft", "reason": "too short"}, "out"]
    run = await studio.run(graph, planner=planner, answers=["1", "2"])
    assert run.prompts_of("draft") == ["Write.", "Write."]


async def test_in_dag_mode_there_is_nothing_to_tell(studio: Studio) -> None:
    graph = studio.draw("in -> a -> out", a={"userPrompt": "[{{visit.reason}}|{{visit.iterSeq}}]"})
    run = await studio.run(graph, answers=["A"])
    assert run.prompts_of("a") == ["[|]"]
    assert "unresolved" not in run.meta("a")
