"""The hermes runtime against a scripted child: the same process, line and callbacks as with the real one."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from flyback.domain.errors import (
    AgentRuntimeError,
    AgentStepsError,
    InvalidError,
    ModelUnavailableError,
    ToolDeniedError,
    ToolFailedError,
)
from flyback.domain.run import Usage
from flyback.engine.agents import clarify_tool
from flyback.engine.ports import (
    AgentRequest,
    AgentTool,
    ChatReply,
    Final,
    Message,
    NeedsInput,
    PersonAnswer,
    SkillField,
    ToolCall,
    ToolSpec,
)
from flyback.providers.agents.hermes.install import HermesInstall
from flyback.providers.agents.hermes.runtime import HermesRuntime
from kit.hermes import FAKE_HERMES


def said(text: str = "", *calls: tuple[str, Mapping[str, JsonValue]]) -> ChatReply:
    """What the model answers; calls have ids of their own."""
    made = [ToolCall(f"call-{os.urandom(4).hex()}", name, arguments) for name, arguments in calls]
    return ChatReply(text, "stop", Usage(7, 3, calls=1), "scripted", tool_calls=made)


class Stage:
    """The engine's side of a turn: a script of replies, and a record of everything."""

    def __init__(self, *replies: ChatReply | Exception) -> None:
        self.replies = list(replies)
        self.asked: list[tuple[Sequence[Message], Sequence[ToolSpec]]] = []
        self.kept: list[JsonValue] = []
        self.own: list[tuple[str, Mapping[str, JsonValue], str]] = []
        self.denied: set[str] = set()
        self.in_a_call = asyncio.Event()
        self.gate: asyncio.Event | None = None

    async def ask(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> ChatReply:
        self.asked.append((messages, tools))
        self.in_a_call.set()
        if self.gate is not None:
            await self.gate.wait()
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def use(self, name: str, arguments: Mapping[str, JsonValue], work: Callable[[], Awaitable[str]]) -> str:
        if name in self.denied:
            raise ToolDeniedError(f"the person did not approve the call of {name!r}")
        text = await work()
        self.own.append((name, arguments, text))
        return text

    async def keep(self, state: JsonValue) -> None:
        self.kept.append(state)

    def told(self, place: int = -1) -> list[str]:
        """What the tools had given by the model call at this place."""
        return [message.text for message in self.asked[place][0] if message.role == "tool"]


class Hammer:
    def __init__(self) -> None:
        self.hits: list[Mapping[str, JsonValue]] = []
        self.raises: Exception | None = None

    async def run(self, arguments: Mapping[str, JsonValue]) -> str:
        if self.raises is not None:
            raise self.raises
        self.hits.append(arguments)
        return f"bang {len(self.hits)}"

    def tool(self) -> AgentTool:
        return AgentTool(ToolSpec("shop__hammer", "Hits.", {"type": "object", "properties": {}}), self.run)


@pytest.fixture
def install(tmp_path: Path) -> HermesInstall:
    return HermesInstall(
        Path(sys.executable), tmp_path / "hermes.log", more_environment={"PYTHONPATH": str(FAKE_HERMES)}
    )


@pytest.fixture
def hammer() -> Hammer:
    return Hammer()


def request_for(user: str = "Do it.", *tools: AgentTool, **more: Any) -> AgentRequest:
    instructions = [Message("system", "Be brief."), Message("user", user)]
    base = AgentRequest(instructions, [clarify_tool(), *tools], (), 20, chinese=False)
    return replace(base, **more)


async def turn(install: HermesInstall, request: AgentRequest, stage: Stage) -> Final | NeedsInput:
    async with asyncio.timeout(60):
        return await HermesRuntime(install).turn(request, stage)


async def test_an_answer_in_words_is_the_response_and_the_model_is_asked_through_the_engine(
    install: HermesInstall,
) -> None:
    stage = Stage(said("Done."))
    done = await turn(install, request_for(), stage)
    assert isinstance(done, Final)
    assert done.final_response == "Done."
    ((messages, tools),) = stage.asked
    assert messages[0].text.startswith("You are Hermes.\nBe brief.")
    assert (messages[-1].role, messages[-1].text) == ("user", "Do it.")
    assert sorted(tool.name for tool in tools) == ["clarify", "final_answer", "todo"]


async def test_our_tools_and_its_own_are_used_and_on_record(install: HermesInstall, hammer: Hammer) -> None:
    stage = Stage(said("", ("shop__hammer", {"n": 1}), ("todo", {"text": "rest"})), said("Done."))
    done = await turn(install, request_for("Do it.", hammer.tool()), stage)
    assert stage.told() == ["bang 1", "noted: {'text': 'rest'}"]
    assert hammer.hits == [{"n": 1}]
    assert stage.own == [("todo", {"text": "rest"}, "noted: {'text': 'rest'}")]
    assert isinstance(done, Final)
    assert list(done.tool_calls) == [("shop__hammer", "bang 1"), ("todo", "noted: {'text': 'rest'}")]


async def test_what_fails_in_a_tool_is_told_to_the_model(install: HermesInstall, hammer: Hammer) -> None:
    hammer.raises = ToolFailedError("it broke")
    stage = Stage(said("", ("shop__hammer", {})), said("Pity."))
    await turn(install, request_for("Do it.", hammer.tool()), stage)
    assert stage.told() == ["Error: it broke"]


async def test_declared_outputs_are_given_with_the_end_and_asked_for_where_they_are_missing(
    install: HermesInstall,
) -> None:
    stage = Stage(
        said("Done."),
        said("", ("final_answer", {"final_response": "Done."})),
        said("", ("final_answer", {"final_response": "Done.", "score": 4, "newRequirements": ["bolder"]})),
    )
    done = await turn(install, request_for(outputs=[SkillField("score", "integer")]), stage)
    assert isinstance(done, Final)
    assert (done.outputs, list(done.new_requirements)) == ({"score": 4}, ["bolder"])
    assert "Call final_answer" in stage.asked[1][0][-1].text
    assert stage.told(2)[-1].startswith("Error: ")


async def test_a_question_parks_the_turn_and_the_answer_goes_on_in_another_process(
    install: HermesInstall, hammer: Hammer
) -> None:
    # given a hammer that was used in the same answer as the question
    stage = Stage(said("", ("shop__hammer", {}), ("clarify", {"question": "Which?", "choices": ["a", "b"]})))
    request = request_for("Do it.", hammer.tool())
    asked = await turn(install, request, stage)
    assert isinstance(asked, NeedsInput)
    assert [(question.text, tuple(question.choices)) for question in asked.questions] == [("Which?", ("a", "b"))]
    # when the person has answered
    later = Stage(said("It is b."))
    answered = replace(request, state=asked.state, answer=PersonAnswer({"q1": "b"}))
    done = await turn(install, answered, later)
    # then Hermes has the whole conversation, and nothing is done again
    assert isinstance(done, Final)
    assert done.final_response == "It is b."
    assert later.told() == ["bang 1", "b"]
    assert len(hammer.hits) == 1
    assert list(done.tool_calls) == [("shop__hammer", "bang 1")]


async def test_questions_that_cannot_be_put_to_a_person_are_told_to_the_model(install: HermesInstall) -> None:
    many: list[JsonValue] = [{"question": "?"}] * 9
    stage = Stage(said("", ("clarify", {"questions": many})), said("Then not."))
    done = await turn(install, request_for(), stage)
    assert isinstance(done, Final)
    assert "one to 5 questions" in stage.told()[0]


async def test_given_a_death_in_the_middle_the_work_goes_on_from_what_was_kept(
    install: HermesInstall, hammer: Hammer
) -> None:
    # given a child that dies after its first tool, of two
    stage = Stage(said("", ("shop__hammer", {"n": 1}), ("todo", {"text": "rest"})))
    request = request_for("die", hammer.tool())
    with pytest.raises(AgentRuntimeError, match=r"ended in the middle of its work \(3\)") as caught:
        await turn(install, request, stage)
    assert caught.value.transient
    # when another goes on
    later = Stage(said("Done."))
    await turn(install, replace(request, state=stage.kept[-1]), later)
    # then the finished call stands, and the other is made before the model is asked
    assert len(hammer.hits) == 1
    assert later.told() == ["bang 1", "noted: {'text': 'rest'}"]
    assert len(later.asked) == 1


async def test_given_a_death_of_the_server_before_our_tool_was_done_it_is_made_without_asking_the_model(
    install: HermesInstall, hammer: Hammer
) -> None:
    stage = Stage(said("", ("shop__hammer", {"n": 1})), said("unheard"))
    request = request_for("Do it.", hammer.tool())
    await turn(install, request, stage)
    before_the_call = stage.kept[0]
    later = Stage(said("Done."))
    await turn(install, replace(request, state=before_the_call), later)
    assert hammer.hits == [{"n": 1}, {"n": 1}]
    assert later.told() == ["bang 2"]


async def test_a_person_who_has_to_be_asked_first_stops_the_turn_after_the_call_was_kept(
    install: HermesInstall, hammer: Hammer
) -> None:
    class PersonNeededError(Exception):
        pass

    hammer.raises = PersonNeededError()
    stage = Stage(said("", ("shop__hammer", {"n": 1})))
    with pytest.raises(PersonNeededError):
        await turn(install, request_for("Do it.", hammer.tool()), stage)
    assert "shop__hammer" in str(stage.kept[-1])


async def test_one_of_its_own_tools_that_a_person_denies_is_not_run(install: HermesInstall) -> None:
    stage = Stage(said("", ("todo", {"text": "rest"})), said("Then without."))
    stage.denied.add("todo")
    done = await turn(install, request_for(), stage)
    assert isinstance(done, Final)
    assert stage.told() == ["Error: the person did not approve the call of 'todo'"]


async def test_what_it_writes_to_stdout_is_no_sentence(install: HermesInstall) -> None:
    done = await turn(install, request_for("noise"), Stage(said("Done.")))
    assert isinstance(done, Final)
    assert done.final_response == "Done."
    assert b"I am Hermes!" in install.log_file.read_bytes()


async def test_what_it_asks_the_model_for_itself_is_metered_and_no_part_of_the_conversation(
    install: HermesInstall,
) -> None:
    stage = Stage(said("A title"), said("", ("todo", {"text": "x"})), said("Done."))
    await turn(install, request_for("aside"), stage)
    assert len(stage.asked) == 3
    assert "title" not in str(stage.kept)


async def test_steps_are_limited_and_a_model_that_fails_fails_the_turn(install: HermesInstall) -> None:
    stage = Stage(*(said("", ("todo", {"text": "x"})) for _ in range(5)))
    with pytest.raises(AgentStepsError):
        await turn(install, request_for(max_steps=2), stage)
    assert len(stage.asked) == 2
    with pytest.raises(ModelUnavailableError):
        await turn(install, request_for(), Stage(ModelUnavailableError("gone")))


async def test_a_turn_that_is_cancelled_leaves_no_process_and_no_folder(
    install: HermesInstall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    stage = Stage(said("never"))
    stage.gate = asyncio.Event()
    task = asyncio.create_task(turn(install, request_for(), stage))
    await stage.in_a_call.wait()
    (folder,) = _folders(tmp_path)
    (running,) = [pid for pid in _processes() if str(folder) == _folder_of(pid)]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert _folders(tmp_path) == []
    assert running not in _processes()


async def test_a_python_without_hermes_or_none_at_all_is_told_with_what_to_do(
    install: HermesInstall, tmp_path: Path
) -> None:
    for broken in (replace(install, python=tmp_path / "python"), replace(install, more_environment={})):
        with pytest.raises(AgentRuntimeError, match="Hermes Agent failed") as caught:
            await turn(broken, request_for(), Stage())
        assert "doctor" in (caught.value.fix or "")
        with pytest.raises((OSError, ValueError)):
            broken.version()
    assert install.version() == "0.19.0"


async def test_only_what_the_operator_grants_is_given(install: HermesInstall) -> None:
    stage = Stage(said("Done."))
    await turn(replace(install, granted=["web"]), request_for(), stage)
    assert "Tool sets: ['flyback', 'todo', 'web', 'clarify']" in stage.asked[0][0][0].text


def test_the_operators_settings_are_read(tmp_path: Path) -> None:
    assert HermesInstall.read({}, tmp_path) is None
    read = HermesInstall.read({"HERMES_PYTHON": "/h/python", "FLYBACK_HERMES_TOOLSETS": "web, file"}, tmp_path)
    assert read is not None
    assert (read.python, tuple(read.toolsets), read.home) == (Path("/h/python"), ("todo", "web", "file"), None)
    for bad in ("all", "web;rm", "*"):
        with pytest.raises(InvalidError, match="no tool set"):
            HermesInstall.read({"HERMES_PYTHON": "/h/python", "FLYBACK_HERMES_TOOLSETS": bad}, tmp_path)


def _folders(place: Path) -> list[Path]:
    return list(place.glob("flyback-hermes-*"))


def _processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _folder_of(pid: int) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return None
