"""Workflows that run inside others, outer runs that hold them, and a look at what ran inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import pytest
from pydantic import JsonValue

from flyback.domain.answering import Given
from flyback.domain.events import EventType
from kit.drawing import Data, draw, when
from kit.studio import Answers, Reply, SeenRun, Studio, script_of

MODES = pytest.mark.parametrize("agentic", [False, True], ids=["DAG", "AGENTIC"])
INNER_MODES = pytest.mark.parametrize("inner_agentic", [False, True], ids=["inner DAG", "inner AGENTIC"])

WORD: Data = {"variables": [{"name": "word", "required": True}]}
FORM: Data = {"type": "humanInput", "form": [{"name": "said"}]}


def file(
    chains: str, *, name: str = "inner", planner: Sequence[Reply] | None = None, answers: Answers = (), **nodes: Data
) -> dict[str, JsonValue]:
    """A graph file; with a planner it is AGENTIC."""
    graph = draw(chains, **nodes)
    return {
        "name": name,
        "mode": "DAG" if planner is None else "AGENTIC",
        "graphData": cast("JsonValue", dict(graph.document)),
        "script": script_of(graph, planner, answers),
    }


def loud(*, agentic: bool = False) -> dict[str, JsonValue]:
    """Says a word twice."""
    return file(
        "ask -> twice -> out",
        planner=["twice", "out"] if agentic else None,
        ask=WORD,
        twice={"type": "template", "template": "{{word}} {{word}}"},
        out={"template": "{{twice.text}}!"},
    )


def asking(*, agentic: bool = False) -> dict[str, JsonValue]:
    """Asks a person about a word."""
    return file(
        "ask -> form -> out",
        planner=["form", "out"] if agentic else None,
        ask={"variables": [{"name": "word"}, {"name": "item"}, {"name": "index"}]},
        form=FORM,
        out={"template": "{{item?}}{{word?}} {{form.said}}"},
    )


def hanging(**slow: JsonValue) -> dict[str, JsonValue]:
    """Asks a model that gives no answer."""
    return file("ask -> slow -> out", ask=WORD, slow=slow, answers={"slow": [{"hang": True}]})


def call(workflow: Mapping[str, JsonValue] | str, **more: JsonValue) -> Data:
    named: dict[str, JsonValue] = (
        {"workflowId": workflow} if isinstance(workflow, str) else {"workflow": dict(workflow)}
    )
    return {"type": "workflow", **named, "inputs": {"word": "{{topic}}"}, **more}


def each(workflow: Mapping[str, JsonValue], items: JsonValue, **more: JsonValue) -> Data:
    return {"type": "iteration", "workflow": dict(workflow), "items": items, **more}


def picky() -> dict[str, JsonValue]:
    return file(
        "ask -> check; check -[branch-0]-> good; check -[branch-1]-> bad; bad -> out",
        name="picky",
        ask={"variables": [{"name": "item"}]},
        check=when("item", "a"),
        bad={"type": "code", "source": "no"},
        good={"type": "output", "template": "fine {{item}}"},
    )


async def outer(studio: Studio, inner: Data, *, agentic: bool = False, template: str = "{{inner.result}}") -> SeenRun:
    graph = studio.draw(
        "ask -> inner -> answer", ask={"variables": [{"name": "topic"}]}, inner=inner, answer={"template": template}
    )
    inputs: dict[str, JsonValue] = {"topic": "tides", "an_object": {"a": 1}}
    return await studio.run(graph, inputs=inputs, planner=["inner", "answer"] if agentic else None)


def inner_runs(studio: Studio, run: SeenRun) -> list[SeenRun]:
    return [
        studio.look(one.run_id) for one in studio.log.runs if one.inside and one.inside.parent_run_id == run.raw.run_id
    ]


def node_error(run: SeenRun, node: str = "inner") -> tuple[str, str]:
    error = run.visits_of(node)[-1].error if run.raw.visits else run.failure(node)
    assert error is not None
    return error.code, error.message


def told(run: SeenRun) -> list[tuple[object, object]]:
    """Index and status of each `sub_run` event."""
    return [(event.data["index"], event.data["status"]) for event in run.events_of(EventType.SUB_RUN)]


def answer(studio: Studio, run: SeenRun, said: str) -> None:
    """Answer the question that a run is waiting for."""
    studio.log.answer(studio.open_pause(run.raw.run_id).pause_id, Given([("said", said)]), by="somebody")
