"""The tool node: which tool it calls with what, and what becomes of the answer."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from flyback.domain.errors import ToolFailedError, ToolNotAcceptedError, ToolUnavailableError
from flyback.domain.events import EventType
from flyback.domain.run import RunStatus
from flyback.engine.ports import ToolAnswer
from kit.studio import SeenRun, Studio
from kit.toolbox import Toolbox


async def use(
    studio: Studio, tools: Toolbox, arguments: JsonValue, given: dict[str, JsonValue] | None = None
) -> SeenRun:
    studio.tools = tools
    data: dict[str, JsonValue] = {"type": "tool", "server": "files", "tool": "read", "arguments": arguments}
    return await studio.run(studio.draw("ask -> use -> out", use=data), inputs=given or {})


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "{{folder}}/a", "lines": "{{n}}", "deep": [{"n": "{{n}}"}]},
        '{"path": "{{folder}}/a", "lines": "{{n}}", "deep": [{"n": "{{n}}"}]}',
        "{{all}}",
    ],
)
async def test_given_arguments_as_an_object_or_as_text_references_become_values(
    studio: Studio, arguments: JsonValue
) -> None:
    tools = Toolbox(ToolAnswer("done", {"ok": True}))
    filled: JsonValue = {"path": "home/a", "lines": 3, "deep": [{"n": 3}]}
    run = await use(studio, tools, arguments, {"folder": "home", "n": 3, "all": filled})
    assert run.output("use") == {"text": "done", "json": {"ok": True}}
    assert tools.called == [("files", "read", filled, f"{run.raw.run_id}/use/tool-1")]
    (told,) = run.events_of(EventType.TOOL_CALL)
    assert (told.data["name"], told.data["arguments"]) == ("files__read", filled)
    (result,) = run.events_of(EventType.TOOL_RESULT)
    assert result.data["result"] == {"text": "done", "json": {"ok": True}}


async def test_what_was_mended_in_an_answer_is_noted(studio: Studio) -> None:
    run = await use(studio, Toolbox(ToolAnswer("[NaN]", [None], ["[0]: it was no number"])), {}, {})
    assert run.output("use") == {"text": "[NaN]", "json": [None]}
    assert run.meta("use")["mended"] == ["[0]: it was no number"]


@pytest.mark.parametrize("arguments", ["no json", "[1]", "{{n}}"])
async def test_given_arguments_that_are_no_object_nothing_is_called(studio: Studio, arguments: JsonValue) -> None:
    tools = Toolbox(ToolAnswer("", None))
    run = await use(studio, tools, arguments, {"n": 3})
    assert run.failure("use").field == "arguments"
    assert not tools.called


async def test_given_no_arguments_the_tool_is_called_with_none(studio: Studio) -> None:
    tools = Toolbox(ToolAnswer("", None))
    await use(studio, tools, "")
    assert tools.called[0][2] == {}


@pytest.mark.parametrize(
    ("error", "attempts"),
    [(ToolFailedError("no"), 1), (ToolNotAcceptedError("no"), 1), (ToolUnavailableError("no"), 4)],
)
async def test_given_a_failure_only_a_call_that_was_not_made_is_made_again(
    studio: Studio, error: Exception, attempts: int
) -> None:
    tools = Toolbox(error)
    run = await use(studio, tools, {})
    assert run.status is RunStatus.FAILED
    assert len(tools.called) == attempts


async def test_given_a_tool_that_fails_in_agentic_mode_the_planner_goes_on(studio: Studio) -> None:
    studio.tools = Toolbox(ToolFailedError("no such file"), ToolAnswer("found", None))
    data: dict[str, JsonValue] = {"type": "tool", "server": "files", "tool": "read"}
    run = await studio.run(studio.draw("ask -> use -> out", use=data), planner=["use", "use", "out"])
    assert run.status is RunStatus.SUCCESS
    assert run.path == ["ask", "use", "use", "out"]
