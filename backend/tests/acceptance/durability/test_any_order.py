"""Runs, answers, cancels, deaths and readers in any order: whatever happens, the tables and the streams are whole."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from pydantic import JsonValue

from flyback.storage.database import Database
from kit.databases import new_url
from kit.drawing import draw
from kit.studio import script_of
from kit.turmoil import Turmoil

_ASK: dict[str, JsonValue] = {"variables": [{"name": "topic", "required": True}]}
_CLARIFY: dict[str, JsonValue] = {"tool": {"name": "clarify", "args": {"question": "Which?"}}}
_MOST_RUNS = 4


def _loop() -> dict[str, JsonValue]:
    graph = draw("ask -> draft -> review -> answer", ask=_ASK, answer={"template": "{{draft.text}}"})
    script = script_of(
        graph, ["draft", "review", "draft", "answer"], {"draft": ["one", "two"], "review": ["too short"]}
    )
    return {"mode": "AGENTIC", "graph": dict(graph.document), "inputs": {"topic": "tides"}, "script": script}


def _branches() -> dict[str, JsonValue]:
    graph = draw("ask -> left; ask -> right; left -> join; right -> join; join -> answer", ask=_ASK)
    script = script_of(graph, None, {"left": ["l"], "right": ["r"], "join": ["j"]})
    return {"mode": "DAG", "graph": dict(graph.document), "inputs": {"topic": "tides"}, "script": script}


def _asking(mode: str) -> dict[str, JsonValue]:
    chains = "ask -> act -> answer" if mode == "AGENTIC" else "ask -> act; ask -> other; act -> answer; other -> answer"
    graph = draw(chains, ask=_ASK, act={"type": "smartAction", "instruction": "Act."})
    answers: dict[str, Any] = {"act": [_CLARIFY, {"echoLastAnswer": "said "}], "other": ["beside"]}
    script = script_of(
        graph,
        ["act", "answer"] if mode == "AGENTIC" else None,
        {node: replies for node, replies in answers.items() if node in graph.nodes},
    )
    return {"mode": mode, "graph": dict(graph.document), "inputs": {"topic": "tides"}, "script": script}


RUNS = {"loop": _loop(), "branches": _branches(), "asking": _asking("AGENTIC"), "asking beside": _asking("DAG")}


class AnyOrder(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._runner = asyncio.Runner()
        url = new_url("sqlite", Path(self._folder.name))
        self._database = self._runner.run(Database.open(url, durability="normal"))
        self._turmoil = self._runner.run(_of(self._database))

    @precondition(lambda self: len(self._turmoil.runs) < _MOST_RUNS)
    @rule(kind=st.sampled_from(sorted(RUNS)))
    def start(self, kind: str) -> None:
        self._do(self._turmoil.start(RUNS[kind]))

    @rule(number=st.integers(0, 9))
    def let_a_call_go(self, number: int) -> None:
        self._do(self._turmoil.let_go(number))

    @rule(text=st.sampled_from(["this", "that"]), times=st.integers(1, 3))
    def answer(self, text: str, times: int) -> None:
        self._do(self._turmoil.answer(text, times=times))

    @precondition(lambda self: bool(self._turmoil.runs))
    @rule(number=st.integers(0, 3))
    def cancel(self, number: int) -> None:
        self._do(self._turmoil.cancel(number))

    @rule()
    def kill(self) -> None:
        self._do(self._turmoil.kill())

    @rule()
    def stop_in_order(self) -> None:
        self._do(self._turmoil.stop())

    @precondition(lambda self: bool(self._turmoil.runs))
    @rule(number=st.integers(0, 3), count=st.integers(1, 12))
    def read(self, number: int, count: int) -> None:
        self._do(self._turmoil.read(number, count))

    def teardown(self) -> None:
        ends = self._runner.run(self._turmoil.finish())
        assert ends["CANCELLED"] == len(self._turmoil.cancelled)
        assert ends["SUCCESS"] + ends["CANCELLED"] + ends["RECOVERY_EXHAUSTED"] == len(self._turmoil.runs), ends
        assert self._turmoil.deaths >= 5 or not ends["RECOVERY_EXHAUSTED"]
        self._runner.run(self._database.close())
        self._runner.close()
        self._folder.cleanup()

    def _do(self, happens: Any) -> None:
        self._runner.run(happens)
        self._runner.run(self._turmoil.check())


async def _of(database: Database) -> Turmoil:
    return Turmoil(database)


@pytest.mark.timeout(3_600)
def test_given_any_order_of_runs_answers_cancels_deaths_and_readers_then_every_run_ends_once_and_whole(
    is_long: bool,
) -> None:
    examples, steps = (400, 60) if is_long else (12, 25)
    run_state_machine_as_test(
        AnyOrder,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
