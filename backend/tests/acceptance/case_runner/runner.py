"""The stage of a case: a real server, the runs that the case starts, the streams that it opens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx

from acceptance.case_runner.case import Case, Variant, variants
from flyback.providers.scripted import ScriptedCall, read_journal
from kit.event_reader import EventReader
from kit.server import Server

ENDED = ("SUCCESS", "FAILED", "CANCELLED")
RUN_END = ("workflow_complete", "workflow_error", "run_cancelled")
_STREAM = "stream"


@dataclass
class Started:
    """A run that was asked for: accepted with an id, or refused with an answer."""

    variant: Variant
    answer: httpx.Response
    seconds: float
    streams: dict[str, EventReader] = field(default_factory=dict[str, EventReader])
    first_streams: dict[str, EventReader] = field(default_factory=dict[str, EventReader])

    @property
    def refused(self) -> bool:
        return self.answer.status_code >= 400

    @property
    def run_id(self) -> str:
        assert not self.refused, self.answer.text
        return self.answer.json()["runId"]


class Stage:
    def __init__(self, case: Case, server: Server) -> None:
        self.case = case
        self.server = server
        self.client = server.client()
        self.started: list[Started] = []
        self.ended_after: dict[str, float] = {}
        self.earlier: dict[str, Any] | None = None
        self.waiting: dict[str, list[dict[str, Any]]] = {}
        """Run to how it was found while it waited for a person, each time."""
        self.workflow_id = ""
        """Of the workflow, where a case saves one and runs it."""

    def play(self) -> None:
        """Do the steps of the case, in order."""
        if "before" in self.case.given:
            self._play_an_earlier_run()
        for step in self.case.content["when"]:
            getattr(self, f"_do_{step['do']}")(step)

    def close(self) -> None:
        for run in self.started:
            for stream in (*run.streams.values(), *run.first_streams.values()):
                stream.close()
        self.client.close()

    def runs(self, name: str | None = None) -> list[Started]:
        return [run for run in self.started if name is None or run.variant.name == name]

    def detail(self, run: Started) -> dict[str, Any]:
        answer = self.client.get(f"/runs/{run.run_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def calls(self, run: Started, target: dict[str, Any] | None = None) -> list[ScriptedCall]:
        """The calls that the scripted model saw for a run: of a node, of the planner, or all."""
        calls = [] if run.refused else read_journal(self.server.data / "scripted.jsonl")
        mine = [call for call in calls if call.run_id == run.run_id]
        if target is None:
            return mine
        if "role" in target:
            return [call for call in mine if call.role == target["role"]]
        return [call for call in mine if call.node_id == target["node"] and call.role == "node"]

    @property
    def _changes_what_is_saved(self) -> bool:
        return any("change" in step for step in self.case.content["when"])

    # The steps.

    def _do_run(self, _step: dict[str, Any]) -> None:
        for variant in variants(self.case):
            self.started.append(self._start(variant))

    def _start(self, variant: Variant) -> Started:
        body: dict[str, Any] = {"inputs": variant.inputs, "model": "scripted"}
        path = "/runs"
        if self._changes_what_is_saved:
            self.workflow_id = self.client.post("/workflows", json=variant.document).json()["id"]
            path = f"/workflows/{self.workflow_id}/run"
        else:
            body["workflow"] = variant.document
        began = time.monotonic()
        answer = self.client.post(path, json=body)
        return Started(variant, answer, time.monotonic() - began)

    # What a person does.

    def open_questions(self, run: Started) -> list[dict[str, Any]]:
        return [pause for pause in self.detail(run)["pauses"] if pause["status"] == "OPEN"]

    def _do_wait_question(self, step: dict[str, Any]) -> None:
        for run in self.runs(step.get("run")):
            self.wait_until(lambda run=run: step["contains"] in self._asked(run), step.get("within_s", 20))
            self._note_waiting(run)

    def _do_wait_questions(self, step: dict[str, Any]) -> None:
        for run in self.runs(step.get("run")):
            self.wait_until(
                lambda run=run: (
                    len(self.open_questions(run)) == step["count"] and self.detail(run)["status"] == "PAUSED"
                ),
                20,
            )
            self._note_waiting(run)

    def _asked(self, run: Started) -> str:
        waiting = self.open_questions(run) if self.detail(run)["status"] == "PAUSED" else []
        return " ".join(question["text"] for pause in waiting for question in pause["questions"])

    def _note_waiting(self, run: Started) -> None:
        self.waiting.setdefault(run.run_id, []).append(self.detail(run))

    def _do_answer(self, step: dict[str, Any]) -> None:
        for run in self.runs(step.get("run")):
            self._answer(run, step.get("node"), step["text"])

    def _do_answer_concurrently(self, step: dict[str, Any]) -> None:
        with ThreadPoolExecutor() as together:
            for run in self.runs(step.get("run")):
                done = [together.submit(self._answer, run, node, text) for node, text in step["answers"]]
                for one in done:
                    one.result()

    def _answer(self, run: Started, node: str | None, text: str) -> None:
        (pause,) = [pause for pause in self.open_questions(run) if node in (None, pause["nodeId"])]
        answer = self.client.post(f"/pauses/{pause['pauseId']}/answer", json={"answer": text})
        assert answer.status_code == 200, answer.text

    def _do_save(self, step: dict[str, Any]) -> None:
        if "change" in step:
            self._save_changed()
            return
        for variant in variants(self.case):
            answer = self.client.post("/workflows", json=variant.document)
            assert answer.status_code == 201 or answer.json()["detail"], answer.text

    def _save_changed(self) -> None:
        """Change the graph that a run began with: without `act`, and with another variable."""
        for run in self.started:
            workflow = self.client.get(f"/workflows/{self.workflow_id}").json()
            graph = workflow["graphData"]
            graph["nodes"] = [node for node in graph["nodes"] if node["id"] != "act"]
            edges = [edge for edge in graph["edges"] if "act" not in (edge["source"], edge["target"])]
            graph["edges"] = [*edges, {"id": "new", "source": "before", "target": "out", "sourceHandle": "output"}]
            graph["nodes"][0]["data"]["variables"][0]["name"] = "z"
            saved = self.client.put(f"/workflows/{self.workflow_id}", json=workflow)
            assert saved.status_code == 200, saved.text
            assert run.run_id

    def _do_wait_end(self, step: dict[str, Any]) -> None:
        for run in self.started:
            if not run.refused:
                began = time.monotonic()
                self.wait_until(lambda run=run: self.detail(run)["status"] in ENDED, step["within_s"])
                self.ended_after[run.run_id] = time.monotonic() - began

    _do_wait_end_by_polling_history = _do_wait_end

    def _do_open_stream(self, step: dict[str, Any]) -> None:
        name = step.get("as", _STREAM)
        for run in self.runs(step.get("run")):
            if run.refused:
                continue
            before = run.streams.get(name)
            if before is not None:
                run.first_streams[name] = before
            third = before.durable[2].id if before is not None and "last_event_id" in step else None
            path = f"/runs/{run.run_id}/events"
            run.streams[name] = EventReader(self.server.client(), path, last_event_id=third)

    def _do_close_stream(self, _step: dict[str, Any]) -> None:
        for stream in self._streams():
            stream.close()

    def _do_read_events(self, step: dict[str, Any]) -> None:
        for stream in self._streams():
            stream.wait(lambda read: len(read.durable) >= step["count"], within_seconds=10)

    def _do_read_until_end(self, step: dict[str, Any]) -> None:
        for stream in self._streams():
            stream.wait(lambda read: read.ended, within_seconds=step.get("within_s", 20))

    def _do_wait_event(self, step: dict[str, Any]) -> None:
        def happened(read: EventReader) -> bool:
            seen = [event.json["data"] for event in read.durable if event.type == "node_status"]
            return any(data["nodeId"] == step["node"] and data["status"] == step["status"] for data in seen)

        for run in self.started:
            name = step.get("on", _STREAM)
            if name not in run.streams:
                run.streams[name] = EventReader(self.server.client(), f"/runs/{run.run_id}/events")
            run.streams[name].wait(happened, within_seconds=20)

    def _do_sleep_ms(self, step: dict[str, Any]) -> None:
        time.sleep(step["is"] / 1000)  # the case asks for this very time

    def _do_kill_server(self, _step: dict[str, Any]) -> None:
        self.server.kill()

    def _do_start_server(self, _step: dict[str, Any]) -> None:
        self.server.start()
        self.client.close()
        self.client = self.server.client()

    def _do_restart_server(self, _step: dict[str, Any]) -> None:
        self.server.stop()
        self._do_start_server(_step)

    def _do_open_run_page(self, _step: dict[str, Any]) -> None:
        for run in self.started:
            self.detail(run)

    def _streams(self) -> Iterator[EventReader]:
        for run in self.started:
            yield from run.streams.values()

    def _play_an_earlier_run(self) -> None:
        run = self._start(next(iter(variants(self.case))))
        self.wait_until(lambda: self.detail(run)["status"] in ENDED, 20)
        self.earlier = self.detail(run)

    def wait_until(self, holds: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"not within {seconds} s"
            time.sleep(0.05)
