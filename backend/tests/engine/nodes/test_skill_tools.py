"""What an agent sees of a skill and when, what it may run of it, and what a skill takes away from its tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import pytest
from pydantic import JsonValue

from flyback.domain.errors import CodeError
from flyback.engine.ports import CodeResult, Skill, Tool, ToolAnswer
from kit.studio import Data, Reply, SeenRun, Studio

CHART = Skill(
    "chart",
    "Chart",
    "Draws charts.\nFrom numbers.",
    "Read the guide first.",
    files=("LICENSE", "references/guide.md", "scripts/mean.py", "scripts/plot.sh"),
)
_FILES = {
    "references/guide.md": "# Guide",
    "scripts/mean.py": "result = sum(numbers) / len(numbers)\nprint('counted', len(numbers))",
    "scripts/plot.sh": "rm -rf /",
    "LICENSE": "MIT",
}


def _use(name: str, **args: JsonValue) -> Mapping[str, JsonValue]:
    return {"tool": {"name": name, "args": args}}


class Sandboxed:
    """A sandbox in which a program that opens a file fails, and any other gives the mean of its numbers."""

    async def run(self, source: str, inputs: Mapping[str, JsonValue], outputs: Sequence[str]) -> CodeResult:
        if "open(" in source:
            raise CodeError("line 1: NameError: name 'open' is not defined")
        numbers = cast("Sequence[int]", inputs.get("numbers", ()))
        if not numbers:
            return CodeResult({}, "")
        return CodeResult({outputs[0]: sum(numbers) / len(numbers)}, f"counted {len(numbers)}\n")


async def _smart(studio: Studio, skills: Sequence[Skill], replies: Sequence[Reply], **act: JsonValue) -> SeenRun:
    for skill in skills:
        studio.add_skill(skill)
    studio.shelf.files.update(_FILES)
    data: Data = {
        "type": "smartAction",
        "instruction": "Go.",
        "skills": [skill.skill_id for skill in skills],
        **act,
    }
    graph = studio.draw("ask -> act -> out", act=data, out={"template": "{{act.final_response}}"})
    return await studio.run(graph, answers={"act": [*replies, "Done."]})


def _told(run: SeenRun, node: str = "act") -> list[str]:
    """What the tools answered, in order."""
    return [message.text for message in run.asked(node)[-1].prompt if message.role == "tool"]


async def test_a_skill_is_a_line_until_it_is_opened_and_its_files_are_names_until_they_are_read(studio: Studio) -> None:
    run = await _smart(studio, [CHART], [_use("read_skill", skill="chart"), _use("read_file", path="LICENSE")])
    first = run.asked("act")[0].prompt
    assert "- chart: Draws charts. From numbers." in first[0].text
    assert "Read the guide first." not in first[0].text
    body, file = _told(run)
    assert body.startswith("Read the guide first.\n\nFiles of this skill")
    assert "- references/guide.md" in body
    assert "# Guide" not in body
    assert file == "MIT"


async def test_a_long_description_and_a_long_list_of_files_are_cut(studio: Studio) -> None:
    many = replace(CHART, description="d" * 5_000, files=tuple(f"f{n}.md" for n in range(500)))
    run = await _smart(studio, [many], [_use("read_skill", skill="chart")])
    assert "d" * 1_024 not in run.asked("act")[0].prompt[0].text
    assert _told(run)[0].endswith("- f199.md\n… and 300 more")


async def test_scripts_are_only_read_unless_the_operator_lets_them_run(studio: Studio) -> None:
    replies = [_use("read_skill", skill="chart"), _use("run_script", path="scripts/mean.py")]
    run = await _smart(studio, [CHART], replies)
    body, refused = _told(run)
    assert "Scripts are not run on this server" in body
    assert refused.startswith("Error: there is no tool 'run_script'")


async def test_a_script_runs_in_the_sandbox_and_nothing_else_does(studio: Studio) -> None:
    studio.sandbox = Sandboxed()
    more = {"scripts/open.py": "open('/etc/passwd').read()", "scripts/still.py": "x = 1"}
    studio.shelf.files.update(more)
    skill = replace(CHART, runs_scripts=True, files=(*CHART.files, *more))
    replies = [
        _use("read_skill", skill="chart"),
        _use("run_script", path="scripts/mean.py", inputs={"numbers": [1, 2, 6]}),
        _use("run_script", path="scripts/still.py"),
        _use("run_script", path="scripts/plot.sh"),
        _use("run_script", path="scripts/open.py"),
        _use("run_script", path="../other/x.py"),
        _use("run_script", path="scripts/mean.py", inputs={"a b": 1}),
    ]
    run = await _smart(studio, [skill], replies, maxSteps=20)
    body, mean, still, shell, opened, outside, name = _told(run)
    assert "run with run_script" in body
    assert mean == "counted 3\nresult = 3.0"
    assert still.startswith("(The script printed nothing")
    assert "only Python programs of pure computing" in shell
    assert opened.startswith("Error: ")
    assert "has no file '../other/x.py'" in outside
    assert "'a b' is no name" in name


async def test_among_several_skills_a_file_is_named_with_its_skill(studio: Studio) -> None:
    other = replace(CHART, skill_id="other", files=("a.md",))
    replies = [_use("read_file", path="LICENSE"), _use("read_file", skill="chart", path="LICENSE")]
    run = await _smart(studio, [CHART, other], replies)
    assert _told(run) == ["Error: the skills with files are chart, other.", "MIT"]


async def test_a_file_may_be_named_as_skills_write_their_own_files(studio: Studio) -> None:
    run = await _smart(studio, [CHART], [_use("read_file", path="./LICENSE"), _use("read_file", path="./../LICENSE")])
    assert _told(run)[0] == "MIT"
    assert "has no file '../LICENSE'" in _told(run)[1]


class Servers:
    """Two MCP servers with two tools each."""

    async def of(self, server: str, *, owner_id: str) -> Sequence[Tool]:
        return [Tool(server, name, name, {"type": "object", "properties": {}}) for name in ("find", "drop")]

    async def asks_before(self, server: str, tool: str, *, owner_id: str) -> bool:
        return False

    async def call(self, server: str, tool: str, arguments: object, *, owner_id: str, key: str) -> ToolAnswer:
        raise AssertionError(f"{server}__{tool} is not called here: {arguments} {owner_id} {key}")


_ALL = ["web__find", "web__drop", "db__find", "db__drop"]


@pytest.mark.parametrize(
    ("allowed", "left"),
    [
        (None, _ALL),
        ((), []),
        (("web__find",), ["web__find"]),
        (("mcp__web__find", "db"), ["web__find", "db__find", "db__drop"]),
        (("*__find(limit:5)",), ["web__find", "db__find"]),
        (("Bash(git:*)", "Read", "mail__send"), []),
    ],
)
async def test_allowed_tools_take_away_and_never_add(
    studio: Studio, allowed: Sequence[str] | None, left: list[str]
) -> None:
    studio.tools = Servers()
    studio.add_skill(replace(CHART, allowed_tools=allowed))
    studio.shelf.files.update(_FILES)
    graph = studio.draw("in -> r -> out", r={"type": "agent", "agentId": "chart", "tools": list(_ALL), "task": "Go."})
    run = await studio.run(graph, answers={"r": [_use("none"), "Done."]})
    # what the agent may call stands in the answer to a call of what it may not
    named = _told(run, "r")[0].partition("The tools are: ")[2].rstrip(".").split(", ")
    assert sorted(named) == sorted(["read_file", *left])
    assert run.meta("r").get("toolsNotAllowed", []) == [name for name in _ALL if name not in left]


async def test_which_version_of_a_skill_was_used_is_on_the_record(studio: Studio) -> None:
    run = await _smart(studio, [replace(CHART, version="abc")], [])
    assert run.meta("act")["skills"] == {"chart": "abc"}
