"""The smartAction node on the builtin runtime: tools, questions to the person, and what nobody is to miss at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from pydantic import JsonValue

from flyback.domain.answering import Given
from flyback.domain.errors import ToolFailedError
from flyback.domain.events import EventType
from flyback.domain.graph import Graph
from flyback.domain.run import RunStatus
from flyback.engine.ports import Skill, Tool, ToolAnswer
from kit.clock import settled
from kit.studio import Data, Studio, script_of

ASK: Data = {"variables": [{"name": "topic"}]}
ACT: Data = {"type": "smartAction", "instruction": "Write about {{topic}}."}


def _clarify(**args: JsonValue) -> Mapping[str, JsonValue]:
    return {"tool": {"name": "clarify", "args": args}}


def _final(response: str, **args: JsonValue) -> Mapping[str, JsonValue]:
    return {"tool": {"name": "final_answer", "args": {"final_response": response, **args}}}


def _use(name: str, **args: JsonValue) -> Mapping[str, JsonValue]:
    return {"tool": {"name": name, "args": args}}


def _graph(studio: Studio, **act: JsonValue) -> Graph:
    return studio.draw("ask -> act -> out", ask=ASK, act={**ACT, **act}, out={"template": "{{act.final_response}}"})


class Workshop:
    """An MCP server with a hammer, which counts how often it is used, and a tool that always fails."""

    def __init__(self) -> None:
        self.used: list[Mapping[str, JsonValue]] = []

    async def of(self, server: str, *, owner_id: str) -> Sequence[Tool]:
        schema: Mapping[str, JsonValue] = {"type": "object", "properties": {}}
        return [Tool(server, name, f"The {name}.", schema) for name in ("hammer", "broken")]

    async def asks_before(self, server: str, tool: str, *, owner_id: str) -> bool:
        return False

    async def call(
        self,
        server: str,
        tool: str,
        arguments: Mapping[str, JsonValue],
        *,
        owner_id: str,
        key: str,
    ) -> ToolAnswer:
        if tool == "broken":
            raise ToolFailedError("it fell apart")
        self.used.append(arguments)
        return ToolAnswer("a nail is in", None)


async def test_an_answer_in_words_is_the_final_response(studio: Studio) -> None:
    run = await studio.run(_graph(studio), inputs={"topic": "tides"}, answers={"act": "About tides."})
    assert run.output("act") == {"final_response": "About tides."}
    assert run.prompts_of("act") == ["Write about tides."]


async def test_declared_outputs_come_beside_the_response(studio: Studio) -> None:
    graph = _graph(studio, outputs=[{"name": "words", "type": "integer"}])
    run = await studio.run(
        graph, inputs={"topic": "tides"}, answers={"act": ["no fields", _final("Done.", words="12")]}
    )
    assert run.output("act") == {"final_response": "Done.", "words": 12}


async def test_an_answer_that_lacks_a_declared_output_again_and_again_fails_the_node(studio: Studio) -> None:
    graph = _graph(studio, outputs=[{"name": "words", "type": "integer"}], maxRetries=0)
    run = await studio.run(graph, inputs={"topic": "tides"}, answers={"act": ["a", "b", "c"]})
    assert run.failure("act").code == "MODEL_UNREADABLE"


async def test_a_question_pauses_and_the_answer_goes_on_with_the_conversation(studio: Studio) -> None:
    # given an agent that has a question
    replies = [_clarify(question="Which tides?", choices=["spring", "neap"]), {"echoLastAnswer": "About "}]
    run = await studio.run(_graph(studio), inputs={"topic": "tides"}, answers={"act": replies})
    assert run.status is RunStatus.PAUSED
    (pause,) = run.pauses
    (question,) = pause.ask.questions
    assert (pause.ask.kind, question.text, question.choices) == ("question", "Which tides?", ("spring", "neap"))
    # when the person answers in words of their own
    run = await studio.answer(run.raw.run_id, given=Given(answer="both"))
    # then the model reads it in place of the tool's result, and is not asked anew what it was asked before
    assert run.result == "About both"
    assert len(run.asked("act")) == 2
    assert [message.role for message in run.asked("act")[1].prompt] == ["system", "user", "assistant", "tool"]


async def test_several_questions_are_asked_at_once_and_one_may_be_passed_over_with_all(studio: Studio) -> None:
    asked: JsonValue = [{"question": "Where?"}, {"question": "Which?", "choices": ["a", "b"], "multi": True}]
    replies = [_clarify(questions=asked), {"echoLastAnswer": ""}]
    run = await studio.run(_graph(studio), inputs={"topic": "tides"}, answers={"act": replies})
    given = Given([("q1", "here"), ("q2", ["a", "b"])])
    run = await studio.answer(run.raw.run_id, given=given)
    assert run.result == "Where?: here\nWhich?: a, b"


async def test_a_question_that_is_passed_over_is_told_so(studio: Studio) -> None:
    replies = [_clarify(question="Where?"), {"echoLastAnswer": ""}]
    run = await studio.run(_graph(studio), inputs={"topic": "tides"}, answers={"act": replies})
    run = await studio.answer(run.raw.run_id, given=Given(action="skip"))
    assert run.result == "(The person did not answer. Go on with what you know.)"


@pytest.mark.parametrize("args", [{}, {"questions": []}, {"questions": [{"question": f"{n}?"} for n in range(6)]}])
async def test_questions_that_cannot_be_put_to_a_person_are_told_to_the_model(
    args: dict[str, JsonValue], studio: Studio
) -> None:
    run = await studio.run(
        _graph(studio), inputs={"topic": "tides"}, answers={"act": [_clarify(**args), "Then without."]}
    )
    assert run.result == "Then without."
    assert run.asked("act")[1].prompt[-1].text.startswith("Error: ")


async def test_tools_are_used_recorded_and_told_and_what_fails_is_told_to_the_model(studio: Studio) -> None:
    studio.tools = workshop = Workshop()
    replies = [_use("shop__hammer", at="wall"), _use("shop__broken"), _use("no_such"), "Done."]
    run = await studio.run(_graph(studio, mcpServers=["shop"]), inputs={"topic": "x"}, answers={"act": replies})
    assert workshop.used == [{"at": "wall"}]
    assert [message.text for message in run.asked("act")[3].prompt if message.role == "tool"] == [
        "a nail is in",
        "Error: it fell apart",
        "Error: there is no tool 'no_such'. The tools are: clarify, shop__broken, shop__hammer.",
    ]
    assert [event.data["name"] for event in run.events_of(EventType.TOOL_CALL)] == ["shop__hammer", "shop__broken"]
    calls = run.meta("act")["toolCalls"]
    assert isinstance(calls, list)
    assert calls[0] == {"name": "shop__hammer", "result": "a nail is in"}


async def test_given_a_death_between_two_steps_when_another_goes_on_then_no_finished_call_is_made_again(
    studio: Studio,
) -> None:
    # given an agent that has used its tool, and whose next model call hangs
    studio.tools = workshop = Workshop()
    replies = [_use("shop__hammer"), {"hang": True}, "never read"]
    graph = _graph(studio, mcpServers=["shop"])
    run_id = studio.accept(graph, inputs={"topic": "x"}, answers={"act": replies})
    driving = studio.start(run_id)
    await settled()
    assert len(studio.look(run_id).asked("act")) == 2
    driving.cancel()
    # when another goes on, with a script in which the model answers now
    state = studio.log.state_of(run_id)
    assert len(state.journals) == 1
    replies[1] = {"text": "Done."}
    run_now = studio.log.run(run_id)
    run_now.options = replace(run_now.options, script=script_of(graph, None, {"act": replies}))
    run = await studio.go_on(run_id)
    # then the tool was used once, and the first call was made once
    assert run.result == "Done."
    assert len(workshop.used) == 1
    assert [call.position for call in run.asked("act")] == [0, 1, 1]


async def test_a_new_requirement_stands_at_the_start_and_among_the_signals(studio: Studio) -> None:
    replies = [_final("Written.", newRequirements=["also in Chinese", "shorter"])]
    run = await studio.run(_graph(studio), inputs={"topic": "x"}, answers={"act": replies})
    assert run.result == "The user has a new requirement: also in Chinese; shorter\n\nWritten."
    envelope = run.node("act").envelope
    assert envelope is not None
    assert envelope.signals == {"newRequirements": ["also in Chinese", "shorter"]}


@pytest.mark.parametrize(
    ("listed", "wishes"),
    [
        ("make it red", ["make it red"]),
        ('["red", "shorter"]', ["red", "shorter"]),
        ([{"wish": "red"}, " ", None], ['{"wish":"red"}']),
        ("None", []),
        (["无"], []),
        (True, []),
    ],
)
async def test_no_requirement_is_lost_however_it_is_written(
    studio: Studio, listed: JsonValue, wishes: list[str]
) -> None:
    run = await studio.run(
        _graph(studio), inputs={"topic": "x"}, answers={"act": [_final("Written.", newRequirements=listed)]}
    )
    envelope = run.node("act").envelope
    assert envelope is not None
    assert envelope.signals.get("newRequirements", []) == wishes


async def test_in_a_chinese_workflow_it_is_said_in_chinese_and_never_twice(studio: Studio) -> None:
    said = "用户有新的需求：再加一章\n\n已完成"
    graph = _graph(studio, label="写作", instruction="写一篇关于潮汐的文章", description="撰写正文")
    run = await studio.run(
        graph, inputs={"topic": "潮汐"}, answers={"act": [_final(said, newRequirements=["再加一章"])]}
    )
    assert run.result == said


async def test_steps_are_limited(studio: Studio) -> None:
    studio.tools = Workshop()
    graph = _graph(studio, mcpServers=["shop"], maxSteps=2)
    run = await studio.run(graph, inputs={"topic": "x"}, answers={"act": [_use("shop__hammer"), _use("shop__hammer")]})
    assert run.failure("act").code == "AGENT_STEPS"


async def test_steps_are_counted_over_questions_and_deaths(studio: Studio) -> None:
    replies = [_clarify(question="Which?"), _use("no_such"), _use("no_such"), "Done."]
    run = await studio.run(_graph(studio, maxSteps=3), inputs={"topic": "x"}, answers={"act": replies})
    run = await studio.answer(run.raw.run_id, given=Given(answer="this"))
    assert (run.failure("act").code, len(run.asked("act"))) == ("AGENT_STEPS", 3)


async def test_tokens_of_one_answer_and_of_the_whole_visit_are_limited(studio: Studio) -> None:
    replies = [_clarify(question="Which?"), _use("no_such"), "never asked for"]
    graph = _graph(studio, maxTokens=50, totalTokens=120)
    run = await studio.run(graph, inputs={"topic": "x"}, answers={"act": replies})
    first = run.calls[0].usage.tokens
    run = await studio.answer(run.raw.run_id, given=Given(answer="a long answer " * 50))
    # the first answer may be as long as one may be, the second only as long as what is left
    allowed = [call.request["maxTokens"] for call in run.calls if isinstance(call.request, dict)]
    assert allowed == [50, min(50, 120 - first)]
    assert (run.failure("act").code, run.failure("act").field) == ("AGENT_TOKENS", "totalTokens")


@pytest.mark.parametrize("kind", ["smartAction", "agent"])
async def test_a_skill_takes_tools_away_and_adds_none(studio: Studio, kind: str) -> None:
    studio.tools = workshop = Workshop()
    allowed = ["shop__broken", "shop__saw", "Bash"]
    studio.add_skill(Skill("s", "S", "Works.", "Work.", files=["a.md"], allowed_tools=allowed))
    own: Data = {"skills": ["s"], "instruction": "Work."} if kind == "smartAction" else {"agentId": "s"}
    act: Data = {"type": kind, "tools": ["shop__hammer", "shop__broken"], **own}
    graph = studio.draw("ask -> act -> out", ask=ASK, act=act, out={"template": "{{act.text}}{{act.final_response}}"})
    run = await studio.run(graph, inputs={"topic": "x"}, answers={"act": [_use("shop__hammer"), _final("Done.")]})
    told = next(message.text for message in run.asked("act")[1].prompt if message.role == "tool")
    assert told.startswith("Error: there is no tool 'shop__hammer'. The tools are: ")
    assert told.endswith("shop__broken.")
    assert workshop.used == []


async def test_one_skill_that_names_no_tools_leaves_them_as_they_are(studio: Studio) -> None:
    studio.tools = workshop = Workshop()
    studio.add_skill(Skill("a", "A", "Works.", "Work.", allowed_tools=["shop__broken"]))
    studio.add_skill(Skill("b", "B", "Works.", "Work."))
    graph = _graph(studio, skills=["a", "b"], mcpServers=["shop"])
    await studio.run(graph, inputs={"topic": "x"}, answers={"act": [_use("shop__hammer"), _final("Done.")]})
    assert len(workshop.used) == 1


@pytest.mark.parametrize(("way", "ends"), [("default", "SUCCESS"), ("fail", "FAILED")])
async def test_a_question_is_waited_for_as_long_as_the_node_says(studio: Studio, way: str, ends: str) -> None:
    # given an agent that asks, at a node that waits for an hour
    graph = _graph(studio, timeout=3600, onTimeout=way)
    replies = [_clarify(question="Which?"), _final("Went on.")]
    run = await studio.run(graph, inputs={"topic": "x"}, answers={"act": replies})
    (asked,) = run.events_of(EventType.CLARIFY_REQUEST)
    assert asked.data["onTimeout"] == way
    assert asked.data["expiresAt"] is not None
    # when nobody answers
    await studio.clock.advance(3599)
    assert studio.log.expire() == []
    await studio.clock.advance(2)
    (late,) = studio.log.expire()
    run = await studio.go_on(late.run_id)
    # then it goes on as the node says
    assert run.status.value == ends
    if way == "fail":
        assert run.failure("act").code == "ANSWER_TIMEOUT"
    else:
        assert run.result == "Went on."
        assert run.asked("act")[1].prompt[-1].text == "(The person did not answer. Go on with what you know.)"


async def test_a_question_without_a_limit_waits_for_ever(studio: Studio) -> None:
    run = await studio.run(_graph(studio), inputs={"topic": "x"}, answers={"act": [_clarify(question="Which?")]})
    (asked,) = run.events_of(EventType.CLARIFY_REQUEST)
    assert (asked.data["onTimeout"], asked.data["expiresAt"]) == (None, None)


async def test_skills_are_listed_read_and_their_files_too_and_nothing_else(studio: Studio) -> None:
    studio.add_skill(Skill("report", "Report", "Writes reports", "Begin with a summary.", files=["forms/a.md"]))
    studio.shelf.files["forms/a.md"] = "# Form"
    replies = [
        _use("read_skill", skill="report"),
        _use("read_file", path="forms/a.md"),
        _use("read_file", path="../../etc/passwd"),
        "Done.",
    ]
    run = await studio.run(_graph(studio, skills=["report"]), inputs={"topic": "x"}, answers={"act": replies})
    prompt = run.asked("act")[3].prompt
    assert "- report: Writes reports" in prompt[0].text
    assert [message.text for message in prompt if message.role == "tool"] == [
        "Begin with a summary.\n\nFiles of this skill, to be read with read_file:\n- forms/a.md",
        "# Form",
        "Error: the skill 'report' has no file '../../etc/passwd'",
    ]


async def test_a_runtime_that_is_not_here_is_named_with_what_is_missing(studio: Studio) -> None:
    run = await studio.run(_graph(studio, runtime="hermes"), inputs={"topic": "x"})
    error = run.failure("act")
    assert (error.code, error.field) == ("INVALID", "runtime")
    assert "Hermes" in (error.fix or "")


async def test_the_whole_way_a_wish_in_an_answer_sends_the_run_back_and_the_second_visit_does_it(
    studio: Studio,
) -> None:
    # given an agent whose person answers with one more requirement, and a planner that reads it
    wish = "there is one more requirement: add a table"
    graph = studio.draw("ask -> act -> out", ask=ASK, act=ACT, out={"template": "{{act.final_response}}"})
    run = await studio.run(
        graph,
        inputs={"topic": "tides"},
        planner=["act", {"next": "act", "reason": "the person wants a table"}, "out"],
        answers={
            "act": [
                _clarify(question="Fine so?"),
                _final("Tides, without a table.", newRequirements=["add a table"]),
                _final("Tides, with a table."),
            ]
        },
    )
    # when they say so
    run = await studio.answer(run.raw.run_id, given=Given(answer=wish))
    # then the response begins with it, the planner has read it, and the second visit is told wish and reason
    first, second = run.visits_of("act")
    assert str(first.data["final_response"]).startswith("The user has a new requirement: add a table")
    assert "The user has a new requirement: add a table" in run.asked("act", role="planner")[0].prompt[-1].text
    prompt = run.asked("act")[2].prompt[-1].text
    assert "add a table" in prompt
    assert "the person wants a table" in prompt
    assert second.is_fly_back
    assert run.result == "Tides, with a table."
