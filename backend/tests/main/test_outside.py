"""What an operator's settings open and close, on the product as it is put together."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from flyback import Workflow, run
from flyback.domain.errors import InvalidError
from kit.web_server import Answer, web_server

_GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "the-world-outside.md"


def workflow(kind: str, **data: JsonValue) -> Workflow:
    return Workflow.of(
        {
            "mode": "DAG",
            "graphData": {
                "nodes": [
                    {"id": "ask", "type": "userInput", "data": {}},
                    {"id": "work", "type": kind, "data": data},
                    {"id": "out", "type": "output", "data": {"outputType": "json"}},
                ],
                "edges": [
                    {"id": "1", "source": "ask", "target": "work"},
                    {"id": "2", "source": "work", "target": "out"},
                ],
            },
        }
    )


async def ends(running: Any) -> tuple[str, Any]:
    """Run it; return how it ended, and its result or its error."""
    async for event in running:
        if event["type"] == "workflow_error":
            return "error", event["data"]
    return "result", running.outputs[0]["result"]


async def test_given_no_setting_a_local_address_is_refused_and_the_setting_is_named(tmp_path: Path) -> None:
    async with web_server(lambda _: Answer()) as server:
        how, error = await ends(run(workflow("http", url=server.url), model="scripted", data=tmp_path))
        assert (how, error["code"]) == ("error", "NODE_FAILED")
        assert "EGRESS_REFUSED" in error["message"]
        assert f"FLYBACK_EGRESS_ALLOW=127.0.0.1:{server.port}" in error["fix"]
        assert not server.asked


async def test_given_the_address_on_the_list_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with web_server(lambda _: Answer(body=b'{"ok": [1]}')) as server:
        monkeypatch.setenv("FLYBACK_EGRESS_ALLOW", f"127.0.0.1:{server.port}")
        how, result = await ends(
            run(workflow("http", url=server.url, method="POST", body={"a": 1}), model="scripted", data=tmp_path)
        )
        assert (how, result["status"], result["json"]) == ("result", 200, {"ok": [1]})
        assert server.asked[0].headers["idempotency-key"].split("/")[1:] == ["work", "tool-1"]


async def test_given_the_switch_is_off_no_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLYBACK_CODE", "off")
    how, error = await ends(run(workflow("code", source="result = 1"), model="scripted", data=tmp_path))
    assert how == "error"
    assert "CODE_OFF" in error["message"]


@pytest.mark.parametrize(("setting", "given"), [("on", [{"text": "result = 3.0"}]), ("off", []), (None, [])])
async def test_a_skills_script_runs_only_where_the_operator_lets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str | None, given: list[JsonValue]
) -> None:
    if setting is not None:
        monkeypatch.setenv("FLYBACK_SKILL_SCRIPTS", setting)
    scripts = tmp_path / "skills" / "mean" / "scripts"
    scripts.mkdir(parents=True)
    (scripts / "mean.py").write_text("result = sum(numbers) / len(numbers)")
    (scripts.parent / "SKILL.md").write_text("---\nname: mean\ndescription: Means.\n---\nRun the script.")
    call: JsonValue = {"name": "run_script", "args": {"path": "scripts/mean.py", "inputs": {"numbers": [1, 2, 6]}}}
    drawn = workflow("agent", agentId="mean", task="1, 2, 6").document
    script: JsonValue = [{"for": {"node": "work"}, "replies": [{"tool": call}, {"text": "done"}]}]
    events = [event async for event in run(Workflow.of({**drawn, "script": script}), model="scripted", data=tmp_path)]
    assert events[-1]["type"] == "workflow_complete"
    assert [event["data"]["result"] for event in events if event["type"] == "tool_result"] == given


async def test_given_the_program_of_the_guide_it_runs_as_the_guide_says(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", _GUIDE.read_text(), re.DOTALL)
    given: JsonValue = {"items": [{"price": 2}, {"price": 3}]}
    outputs: JsonValue = [{"name": "total"}, {"name": "text"}]
    drawn = workflow("code", source=program, inputs=given, outputs=outputs)
    how, result = await ends(run(drawn, model="scripted", data=tmp_path))
    assert (how, result) == ("result", "2 items, 5")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FLYBACK_EGRESS_ALLOW", "10.0.0.0/99"),
        ("FLYBACK_CODE", "maybe"),
        ("FLYBACK_MCP_FILE", "{folder}/broken.toml"),
    ],
)
async def test_given_a_setting_that_cannot_be_read_nothing_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    (tmp_path / "broken.toml").write_text("[servers.a]\n")
    monkeypatch.setenv(name, value.format(folder=tmp_path))
    with pytest.raises(InvalidError, match=name if name != "FLYBACK_MCP_FILE" else "either a command or a url"):
        await ends(run(workflow("code"), model="scripted", data=tmp_path / "data"))
