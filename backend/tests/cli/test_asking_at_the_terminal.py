"""Questions and approvals with a person at the terminal, and through a server that runs."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kit import mcp_server
from kit.server import Server

_SECONDS = 90


class Terminal:
    """A program with a person before it, who sees what it writes and types answers."""

    def __init__(self, process: subprocess.Popen[bytes], handle: int) -> None:
        self._process = process
        self._handle = handle
        self.seen = ""
        self._read = 0

    def reads(self, text: str) -> None:
        """Wait until the program has written this, after what was read before."""
        while (found := self.seen.find(text, self._read)) < 0:
            self.seen += self._more()
        self._read = found + len(text)

    def types(self, line: str) -> None:
        os.write(self._handle, f"{line}\n".encode())

    def ends(self) -> int:
        """Read to the end, and return the exit code."""
        while more := self._more(at_end=""):
            self.seen += more
        return self._process.wait(_SECONDS)

    def _more(self, *, at_end: str | None = None) -> str:
        ready, _, _ = select.select([self._handle], [], [], _SECONDS)
        assert ready, f"the program is silent after:\n{self.seen}"
        try:
            data = os.read(self._handle, 4096)
        except OSError:  # the other side is closed
            data = b""
        if not data and at_end is None:
            raise AssertionError(f"the program ended after:\n{self.seen}")
        return data.decode(errors="replace")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder whose operator has an MCP server, before one tool of which a person is asked."""
    folder = tmp_path / "data"
    folder.mkdir()
    command, file = json.dumps(sys.executable), json.dumps(str(mcp_server.FILE))
    (folder / "mcp.toml").write_text(
        f'[servers.kit]\ncommand = {command}\nargs = [{file}, "stdio"]\napproval = ["add"]\n'
    )
    return folder


def _environment(data: Path) -> dict[str, str]:
    return {**os.environ, "FLYBACK_DATA": str(data), "COLUMNS": "200", "TERM": "dumb"}


@contextmanager
def _at_terminal(data: Path, *words: str) -> Generator[Terminal]:
    handle, inner = pty.openpty()
    command = [sys.executable, "-m", "flyback.main", *words]
    environment = _environment(data)
    with subprocess.Popen(command, stdin=inner, stdout=inner, stderr=inner, env=environment) as process:
        os.close(inner)
        try:
            yield Terminal(process, handle)
        finally:
            process.kill()
            os.close(handle)


def _flyback(data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flyback.main", *words],
        input="",
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
        env=_environment(data),
    )


def _document() -> dict[str, Any]:
    add = {"tool": {"name": "kit__add", "args": {"a": 40, "b": 2}}}
    clarify = {"tool": {"name": "clarify", "args": {"question": "Which?", "choices": ["red", "blue"]}}}
    act = {"instruction": "Act.", "model": "scripted", "mcpServers": ["kit"]}
    return {
        "name": "Asks",
        "mode": "DAG",
        "graphData": {
            "nodes": [
                {"id": "act", "type": "smartAction", "data": act},
                {"id": "out", "type": "output"},
            ],
            "edges": [{"id": "1", "source": "act", "target": "out"}],
        },
        "script": [{"for": {"node": "act"}, "replies": [clarify, add, {"echoLastAnswer": "took "}]}],
    }


def _graph(tmp_path: Path) -> str:
    file = tmp_path / "asks.json"
    file.write_text(json.dumps(_document()))
    return str(file)


def test_given_a_person_at_the_terminal_when_a_run_asks_then_they_answer_approve_and_see_its_end(
    data: Path, tmp_path: Path
) -> None:
    with _at_terminal(data, "run", _graph(tmp_path)) as terminal:
        # when the agent asks
        terminal.reads("2. blue")
        terminal.reads("Which?")
        terminal.types("2")
        # and then wants to use its tool, which is shown whole
        terminal.reads("May the tool add of kit run?")
        terminal.reads('"a": 40')
        terminal.reads("[approve/deny]")
        terminal.types("perhaps")
        terminal.reads("[approve/deny]")
        terminal.types("approve")
        # then it goes on to its end
        assert terminal.ends() == 0
        assert "took blue" in terminal.seen


def test_given_a_person_who_denies_then_the_agent_is_told_why(data: Path, tmp_path: Path) -> None:
    with _at_terminal(data, "run", _graph(tmp_path), "--json") as terminal:
        terminal.reads("Which?")
        terminal.types("red")
        terminal.reads("[approve/deny]")
        terminal.types("deny")
        terminal.reads("What do you say to it?")
        terminal.types("too large a sum")
        assert terminal.ends() == 0
    assert "did not approve the call of 'kit__add': too large a sum" in terminal.seen


def test_given_a_server_that_is_killed_while_it_waits_when_it_is_back_then_a_command_answers_through_it(
    data: Path,
) -> None:
    # given a run that waits in a server
    server = Server(data)
    server.start()
    body = {"workflow": _document(), "model": "scripted"}
    with server.client() as client:
        run_id = client.post("/runs?wait=true", json=body).json()["runId"]
    server.kill()
    server.start()
    try:
        # when the commands speak to the one that is up again
        asked = _flyback(data, "answer", run_id, "--answer", "red")
        assert (asked.returncode, "May the tool add of kit run?" in asked.stderr) == (4, True), asked.stderr
        assert "--action approve|deny" in asked.stderr
        approved = _flyback(data, "answer", run_id, "--action", "approve")
        # then the run goes on there, to its end
        assert approved.returncode == 0, approved.stderr
        assert "took red" in approved.stdout
        with server.client() as client:
            calls = client.get(f"/runs/{run_id}/nodes/act/calls").json()["items"]
            answered = client.get("/pauses?status=answered").json()["items"]
        assert [call["response"]["json"] for call in calls if call["kind"] == "tool"] == [{"sum": 42}]
        assert [pause["kind"] for pause in answered] == ["question", "approval"]
    finally:
        server.stop()
