"""The program as a person runs it: real processes, a data folder in a temporary place."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from flyback import __version__
from kit.hermes import python_with_hermes
from kit.server import Server, running_server

_ROOT = Path(__file__).parents[3]
_SAMPLES = _ROOT / "samples"
Flyback = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def flyback(data: Path) -> Flyback:
    """Runs the program and returns what it said and its exit code."""

    def run(*words: str, stdin: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            _command(words),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
            env={**os.environ, "FLYBACK_DATA": str(data), "COLUMNS": "200", **options},
        )

    return run


def _command(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "flyback.main", *words]


def _graph(tmp_path: Path, **changes: Any) -> Path:
    document: dict[str, Any] = {
        "name": "Echo",
        "mode": "DAG",
        "graphData": {
            "nodes": [
                {"id": "ask", "type": "userInput", "data": {"variables": [{"name": "q", "required": True}]}},
                {"id": "say", "type": "llm", "data": {"userPrompt": "{{q}}", "model": "scripted"}},
                {"id": "out", "type": "output", "data": {}},
            ],
            "edges": [
                {"id": "1", "source": "ask", "target": "say"},
                {"id": "2", "source": "say", "target": "out"},
            ],
        },
        "script": [{"for": {"node": "say"}, "replies": [{"text": "hello"}], "repeatLast": True}],
        **changes,
    }
    file = tmp_path / "graph.json"
    file.write_text(json.dumps(document))
    return file


def test_a_run_draws_its_route_and_ends_with_its_result(flyback: Flyback) -> None:
    ran = flyback("run", str(_SAMPLES / "loop-back.json"), "--model", "scripted")
    assert ran.returncode == 0, ran.stderr
    assert "from Name the fault#1" in ran.stdout
    assert "off the drawing" in ran.stdout
    assert "No edge leads there, but the draft must be written again." in ran.stdout
    assert ran.stdout.rstrip().endswith("Come to our summer party on Friday at six, all of you!")


def test_a_name_in_a_list_is_a_name_and_no_markup(flyback: Flyback, tmp_path: Path) -> None:
    assert flyback("import", str(_graph(tmp_path, name="Echo [/red]"))).stdout.rstrip().endswith("Echo [/red]")
    flyback("run", str(_graph(tmp_path, name="Echo [/red]")), "-i", "q=hi", "--model", "scripted")
    listed = flyback("runs")
    assert (listed.returncode, "Echo [/red]" in listed.stdout) == (0, True), listed.stderr


def test_json_prints_the_events_as_lines_numbered_without_gaps(flyback: Flyback, tmp_path: Path) -> None:
    ran = flyback("run", str(_graph(tmp_path)), "-i", "q=hi", "--model", "scripted", "--json")
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("run_started", "workflow_complete")


def test_a_missing_input_without_a_terminal_is_bad_input_and_named(flyback: Flyback, tmp_path: Path) -> None:
    ran = flyback("run", str(_graph(tmp_path)), "--model", "scripted")
    assert ran.returncode == 2
    assert "INPUT_INVALID" in ran.stderr
    assert "'q'" in ran.stderr


def test_a_failed_run_leaves_with_1_and_says_why(flyback: Flyback, tmp_path: Path) -> None:
    script = [{"for": {"node": "say"}, "replies": [{"httpError": 401}]}]
    ran = flyback("run", str(_graph(tmp_path, script=script)), "-i", "q=hi", "--model", "scripted")
    assert ran.returncode == 1
    assert "NODE_FAILED" in ran.stdout


def test_what_is_no_graph_file_is_refused_in_one_plain_message(flyback: Flyback) -> None:
    for command, content in (("validate", "\x00"), ("validate", '{"a": 1, "a": 2}'), ("run", "{"), ("import", "[]")):
        refused = flyback(command, "-", stdin=content)
        assert refused.returncode == 2
        assert refused.stderr
        assert "Traceback" not in refused.stderr


def test_validate_tells_every_fault_with_its_remedy(flyback: Flyback, tmp_path: Path) -> None:
    file = _graph(tmp_path)
    document = json.loads(file.read_text())
    document["graphData"]["nodes"][1]["type"] = "teleport"
    document["graphData"]["edges"].append({"id": "3", "source": "say", "target": "ask"})
    file.write_text(json.dumps(document))
    told = flyback("validate", str(file))
    assert told.returncode == 2
    assert "teleport" in told.stdout
    assert "→" in told.stdout
    assert json.loads(flyback("validate", str(file), "--json").stdout)["valid"] is False


def test_what_a_killed_command_left_behind_is_gone_on_with_by_resume(
    flyback: Flyback, data: Path, tmp_path: Path
) -> None:
    # given a run that was killed while its model was answering
    script = [{"for": {"node": "say"}, "replies": [{"text": "hello", "delayMs": 3000}]}]
    words = _command(["run", str(_graph(tmp_path, script=script)), "-i", "q=hi", "--model", "scripted", "--json"])
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, "FLYBACK_DATA": str(data)})
    assert process.stdout is not None
    run_id = json.loads(process.stdout.readline())["runId"]
    while '"nodeId": "say"' not in process.stdout.readline():
        continue
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    # when somebody goes on with it, by the beginning of its id
    resumed = flyback("resume", run_id[:8])
    # then it ends, and nothing is doubled
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    shown = json.loads(flyback("show", run_id, "--json").stdout)
    assert [(node["nodeId"], node["status"]) for node in shown["nodes"]] == [
        ("ask", "SUCCESS"),
        ("say", "SUCCESS"),
        ("out", "SUCCESS"),
    ]
    assert run_id in flyback("runs").stdout


def test_a_fork_draws_the_shared_route_and_goes_on_from_there(flyback: Flyback) -> None:
    flyback("run", str(_SAMPLES / "loop-back.json"), "--model", "scripted")
    run_id = json.loads(flyback("runs", "--json").stdout)[0]["runId"]
    forked = flyback(
        "fork", run_id[:8], "--visit", "Write the invitation#1", "-i", "draft__text=Mine", "--next", "answer"
    )
    assert forked.returncode == 0, forked.stderr
    assert f"forked from {run_id}" in forked.stdout
    assert forked.stdout.count("shared") == 2
    assert "✎draft__text" in forked.stdout
    assert "person → Answer" in forked.stdout
    assert forked.stdout.rstrip().endswith("Mine")
    for wrong, told in (
        ((), "1 (Task#1), 2 (Write the invitation#1)"),
        (("--visit", "9"), "has no visit '9'"),
        (("--visit", "2", "--next", "nowhere"), "no node 'nowhere'"),
        (("--visit", "2", "-i", "draft__text:={"), "draft__text"),
        (("--visit", "2", "--version", "true"), "'true' is no version"),
    ):
        refused = flyback("fork", run_id, *wrong)
        assert (refused.returncode, told in refused.stderr) == (2, True), refused.stderr


def test_a_replay_plays_the_route_again_and_calls_no_model(flyback: Flyback, data: Path) -> None:
    flyback("run", str(_SAMPLES / "loop-back.json"), "--model", "scripted")
    run_id = json.loads(flyback("runs", "--json").stdout)[0]["runId"]
    asked = (data / "scripted.jsonl").read_text()
    played = flyback("replay", run_id[:8], "--speed", "1000")
    assert (played.returncode, played.stdout) == (0, flyback("show", run_id).stdout)
    lines = [json.loads(line) for line in flyback("replay", run_id, "--json", "--speed", "1000").stdout.splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert (data / "scripted.jsonl").read_text() == asked
    assert flyback("replay", "nothing").returncode == 2


def test_the_program_says_which_version_it_is(flyback: Flyback) -> None:
    assert flyback("--version").stdout == f"flyback {__version__}\n"


def test_ctrl_c_cancels_the_run_and_leaves_with_130(flyback: Flyback, data: Path, tmp_path: Path) -> None:
    # given a run whose model is silent, in a terminal where Ctrl-C works (a test may be started with it switched off)
    script = [{"for": {"node": "say"}, "replies": [{"hang": True}]}]
    words = ["run", str(_graph(tmp_path, script=script)), "-i", "q=hi", "--model", "scripted", "--json"]
    interruptible = (
        "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "runpy.run_module('flyback.main', run_name='__main__', alter_sys=True)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", interruptible, *words],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "FLYBACK_DATA": str(data)},
    )
    assert process.stdout is not None
    while '"nodeId": "say"' not in process.stdout.readline():
        continue
    # when the person presses it
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=20)
    # then the run has its end, and the command says so
    assert process.returncode == 130
    assert json.loads(rest.splitlines()[-1])["type"] == "run_cancelled"
    assert json.loads(flyback("runs", "--json").stdout)[0]["status"] == "CANCELLED"


def test_a_server_that_holds_the_folder_refuses_with_the_same_code(
    flyback: Flyback, data: Path, tmp_path: Path
) -> None:
    with running_server(data):
        ran = flyback("run", str(_graph(tmp_path)), "--model", "scripted")
    assert ran.returncode == 2
    assert ran.stderr.startswith("INPUT_INVALID: ")


def test_files_go_in_and_come_out_as_they_were(flyback: Flyback, tmp_path: Path) -> None:
    file = _graph(tmp_path, custom={"kept": True})
    imported = flyback("import", str(file))
    assert imported.returncode == 0, imported.stderr
    exported = json.loads(flyback("export", "Echo").stdout)
    assert exported["custom"] == {"kept": True}
    assert exported["graphData"]["nodes"] == json.loads(file.read_text())["graphData"]["nodes"]


def test_the_doctor_says_what_is_missing(flyback: Flyback) -> None:
    told = flyback("doctor", OPENAI_API_KEY="sk-test-0123456789")
    assert "not there yet" in told.stdout
    assert "flyback models add" in told.stdout
    assert "sk-test-0123456789" not in told.stdout


def test_the_doctor_says_which_hermes_there_is_or_how_to_get_one(flyback: Flyback, tmp_path: Path) -> None:
    assert "HERMES_PYTHON=~/.hermes-env/bin/python" in flyback("doctor", HERMES_PYTHON="").stdout
    told = flyback("doctor", HERMES_PYTHON=sys.executable).stdout
    assert "has none" in told
    assert "hermes-agent==0.19" in told
    python = str(python_with_hermes(tmp_path))
    assert "Hermes Agent 0.19.0, tool sets todo, web" in " ".join(
        flyback("doctor", HERMES_PYTHON=python, FLYBACK_HERMES_TOOLSETS="web").stdout.split()
    )
    assert "is no tool set" in flyback("doctor", HERMES_PYTHON=python, FLYBACK_HERMES_TOOLSETS="all").stdout


def test_given_a_run_of_today_when_somebody_tidies_up_then_it_stays_and_the_doctor_finds_all_well(
    flyback: Flyback, tmp_path: Path
) -> None:
    assert "no database" in flyback("tidy").stderr
    flyback("run", str(_graph(tmp_path)), "-i", "q=hi")
    tidied = flyback("tidy", "--keep", "0", "--vacuum")
    assert (tidied.returncode, "Deleted 0 runs" in tidied.stdout) == (0, True), tidied.stderr
    told = flyback("doctor").stdout
    assert "its tables are up to date" in told
    assert "The clock." in told


class TestWhileAServerHoldsTheFolder:
    @pytest.fixture
    def server(self, data: Path) -> Generator[Server]:
        with running_server(data) as server:
            yield server

    def test_a_command_speaks_to_the_server_with_the_same_output(
        self, flyback: Flyback, server: Server, tmp_path: Path
    ) -> None:
        ran = flyback("run", str(_graph(tmp_path)), "-i", "q=hi", "--model", "scripted")
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.rstrip().endswith("hello")
        with server.client() as client:
            assert client.get("/runs").json()["total"] == 1

    def test_a_fork_and_a_replay_go_through_it_too(self, flyback: Flyback, server: Server) -> None:
        flyback("run", str(_SAMPLES / "loop-back.json"), "--model", "scripted")
        run_id = json.loads(flyback("runs", "--json").stdout)[0]["runId"]
        forked = flyback("fork", run_id, "--visit", "2", "-i", "draft__text:=[1, 2]", "--next", "answer")
        assert forked.returncode == 0, forked.stderr
        assert forked.stdout.rstrip().endswith("[1,2]")
        assert "person → Answer" in flyback("replay", run_id, "--speed", "1000").stdout + forked.stdout
        refused = flyback("fork", run_id, "--visit", "2", "--next", "nowhere")
        assert (refused.returncode, refused.stderr.startswith("INVALID: ")) == (2, True)
        with server.client() as client:
            assert client.get("/runs", params={"forkOf": run_id}).json()["total"] == 1

    @pytest.mark.usefixtures("server")
    def test_a_cancel_ends_the_run_of_another_command_with_130(
        self, flyback: Flyback, data: Path, tmp_path: Path
    ) -> None:
        script = [{"for": {"node": "say"}, "replies": [{"hang": True}]}]
        words = _command(["run", str(_graph(tmp_path, script=script)), "-i", "q=hi", "--model", "scripted", "--json"])
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, text=True, env={**os.environ, "FLYBACK_DATA": str(data)}
        )
        assert process.stdout is not None
        run_id = json.loads(process.stdout.readline())["runId"]
        cancelled = flyback("cancel", run_id)
        assert cancelled.stdout.split() == [run_id, "CANCELLED"]
        began = time.monotonic()
        process.stdout.read()
        assert process.wait(10) == 130
        assert time.monotonic() - began < 10
        process.stdout.close()

    def test_another_sign_in_link_works(self, flyback: Flyback, server: Server) -> None:
        link = flyback("sign-in").stdout.strip()
        assert link.startswith(f"{server.base_url}/sign-in#secret=")
        with server.client() as client:
            signed_in = client.post("/auth/sign-in", json={"secret": link.partition("#secret=")[2]})
            assert signed_in.status_code == 200


def test_people_are_added_listed_given_another_role_and_removed(flyback: Flyback) -> None:
    link = flyback("users", "add", "Edda").stdout.strip()
    assert "/sign-in#secret=" in link
    assert flyback("users", "role", "Edda", "viewer").returncode == 0
    people = json.loads(flyback("users", "list", "--json").stdout)
    assert [(one["name"], one["role"]) for one in people] == [("owner", "admin"), ("Edda", "viewer")]
    assert "/sign-in#secret=" in flyback("sign-in", "--user", "Edda").stdout
    assert flyback("users", "remove", "Edda").returncode == 0
    nobody = flyback("users", "remove", "Edda")
    assert nobody.returncode == 2
    assert "users list" in nobody.stderr
