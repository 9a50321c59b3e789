"""The planner's rules around a model that is asked by likelihood."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from engine.agentic.drawings import ended, graph_of
from flyback.domain.errors import ModelUnavailableError
from flyback.domain.graph import Graph
from flyback.domain.run import ErrorInfo, Mode, RunId, RunUsage, StepStatus, Usage
from flyback.domain.visit import Visit
from flyback.domain.workspace import Workspace
from flyback.engine.agentic.chart import draw_chart
from flyback.engine.agentic.digest import MAX_CANDIDATES, MAX_TOKENS, Scene, candidates, digest, name_of, tokens_about
from flyback.engine.agentic.likelihood import IN_A_CIRCLE, JUST_DONE, REASON_MAX_TOKENS, LikelihoodChoice, choose
from flyback.engine.calls import Meter
from flyback.engine.log import RunOptions, RunState
from flyback.engine.ports import CallSite, ChatReply, ChatRequest, Verdict
from kit.clock import HandClock
from kit.drawing import Data
from kit.studio import Studio

GRAPH = graph_of("A -> B; B -> C; C -> out", data={"D": {}})


class Judge:
    """A small model that finds each node as likely as it is told, and gives a reason, or fails, or takes its time."""

    name = "judge"
    has_price = False

    def __init__(
        self, scores: Mapping[str, float], *, reason: str | Exception = "It fits.", seconds: float = 0
    ) -> None:
        self._scores = scores
        self._reason = reason
        self._seconds = seconds
        self.clock = HandClock()
        self.asked: list[ChatRequest] = []
        self.texts: list[str] = []

    @property
    def decider(self) -> Judge:
        return self

    async def decide(self, text: str, claims: Sequence[str], *, site: CallSite) -> Verdict:
        self.texts.append(text)
        scores = [self._scores.get(claim.rpartition(" ")[2], -9.0) for claim in claims]
        return Verdict(scores, Usage(10, 1, 1), "tiny")

    async def stream(self, request: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
        self.asked.append(request)
        if self._seconds:
            await self.clock.sleep(self._seconds)
        if isinstance(self._reason, Exception):
            raise self._reason
        yield self._reason
        yield ChatReply(self._reason, "stop", Usage(5, 5, 1), "tiny")


def scene_after(visit: Visit, graph: Graph = GRAPH, inputs: Mapping[str, JsonValue] | None = None) -> Scene:
    given_inputs = dict(inputs or {"task": "count"})
    workspace = Workspace.of_inputs(given_inputs)
    if visit.envelope is not None:
        workspace = workspace.after(visit.envelope, writer=visit.sort_order)
    return Scene(draw_chart(graph), given_inputs, [visit], workspace)


async def chosen(judge: Judge, scene: Scene, studio: Studio | None = None) -> LikelihoodChoice:
    studio = studio or Studio()
    state = RunState(
        run_id=RunId("run"),
        owner_id="",
        workflow_id=None,
        mode=Mode.AGENTIC,
        graph=scene.chart.graph,
        inputs=scene.inputs,
        options=RunOptions(default_model="judge"),
        epoch=1,
        step=0,
        usage=RunUsage(),
    )
    current = scene.current
    place = Meter(state, studio.engine()).at(current.node_id, current.visit_id, "planner", 1)
    return await choose(scene, model=judge, place=place, clock=judge.clock)


async def test_the_node_with_the_best_score_comes_next() -> None:
    choice = await chosen(Judge({"B": 0.5, "C": 2.0, "D": 1.5}), scene_after(ended(GRAPH, "A", data={"text": "x"})))
    assert (choice.next, choice.method, choice.model) == ("C", "likelihood", "tiny")
    assert list(choice.scores)[:3] == ["C", "D", "B"]
    assert choice.margin == 0.5


async def test_given_a_near_tie_the_drawn_edge_is_followed_where_it_is_among_the_best_three() -> None:
    choice = await chosen(Judge({"C": 2.0, "D": 1.95, "B": 0.1}), scene_after(ended(GRAPH, "A", data={"text": "x"})))
    assert (choice.next, choice.method) == ("B", "likelihood_edge")


async def test_given_a_near_tie_far_above_the_drawn_edge_the_best_comes_next() -> None:
    scores = {"C": 2.0, "D": 1.95, "out": 1.0, "B": 0.1}
    choice = await chosen(Judge(scores), scene_after(ended(GRAPH, "A", data={"text": "x"})))
    assert (choice.next, choice.method) == ("C", "likelihood")


async def test_given_a_near_tie_after_a_failure_no_edge_is_followed() -> None:
    failed = ended(GRAPH, "A", handle=None, status=StepStatus.FAILED, error=ErrorInfo("MODEL_EMPTY", "nothing came"))
    choice = await chosen(Judge({"C": 2.0, "B": 1.95}), scene_after(failed))
    assert (choice.next, choice.method) == ("C", "likelihood")


async def test_the_node_that_has_just_done_its_work_counts_less() -> None:
    choice = await chosen(Judge({"A": 2.0, "B": 1.5}), scene_after(ended(GRAPH, "A", data={"text": "x"})))
    assert choice.next == "B"
    assert choice.scores["A"] == 2.0 - JUST_DONE


async def test_the_node_that_has_just_failed_counts_in_full() -> None:
    failed = ended(GRAPH, "A", handle=None, status=StepStatus.FAILED, error=ErrorInfo("MODEL_EMPTY", "nothing came"))
    judge = Judge({"A": 2.0, "B": 1.5})
    choice = await chosen(judge, scene_after(failed))
    assert choice.next == "A"
    assert "Failure: nothing came" in judge.texts[0]


async def test_a_step_that_led_back_here_with_nothing_new_counts_less() -> None:
    visits = [ended(GRAPH, "A", data={"text": "x"})]
    for node_id in ("B", "A", "B", "A"):
        visits.append(ended(GRAPH, node_id, data={"text": "x"}, after=visits[-1]))
    scene = replace(scene_after(visits[-1]), visits=visits)
    choice = await chosen(Judge({"B": 2.0, "C": 1.5}), scene)
    assert (choice.next, choice.scores["B"]) == ("C", 2.0 - IN_A_CIRCLE)


async def test_the_reason_is_written_after_the_choice_and_shown_as_it_comes() -> None:
    studio = Studio()
    judge = Judge({"B": 2.0}, reason="B is\nplanned. ")
    choice = await chosen(judge, scene_after(ended(GRAPH, "A", data={"text": "x"})), studio)
    assert choice.reason == "B is planned."
    assert studio.watcher.shown("A") == "B is\nplanned. "
    (asked,) = judge.asked
    assert (asked.max_tokens, asked.purpose) == (REASON_MAX_TOKENS, "decision")
    assert asked.messages[0].text == judge.texts[0]


@pytest.mark.parametrize("reason", [ModelUnavailableError("gone"), " "])
async def test_given_no_reason_a_sentence_with_score_and_margin_stands_in(reason: str | Exception) -> None:
    scene = scene_after(ended(GRAPH, "A", data={"text": "x"}))
    choice = await chosen(Judge({"B": 2.0, "C": 1.0}, reason=reason), scene)
    assert choice.reason == "'B' scored best (2.00, ahead by 1.00)."


async def test_given_a_reason_that_takes_longer_than_five_seconds_the_sentence_stands_in() -> None:
    judge = Judge({"B": 2.0, "C": 1.0}, seconds=60)
    scene = scene_after(ended(GRAPH, "A", data={"text": "x"}))
    found: list[LikelihoodChoice] = []

    async def decide() -> None:
        found.append(await chosen(judge, scene))

    await judge.clock.run_through(asyncio.create_task(decide()))
    assert found[0].reason.startswith("'B' scored best")
    assert judge.clock.seconds == 5


async def test_given_a_chinese_workflow_claims_and_sentence_are_chinese() -> None:
    graph = graph_of("A -> B; B -> out", data={"A": {"label": "收集数据"}, "B": {"label": "撰写报告"}})
    scene = scene_after(ended(graph, "A", data={"text": "数据齐全"}), graph, {"需求": "销售报告"})
    judge = Judge({}, reason=ModelUnavailableError("gone"))
    choice = await chosen(judge, scene)
    assert judge.texts[0].startswith("任务：需求: 销售报告\n计划的下一步：撰写报告\n最新结果：数据齐全")
    assert "得分" in choice.reason


def test_a_node_is_told_by_its_label_or_by_its_description_where_the_label_says_nothing() -> None:
    graph = graph_of(
        "A -> n1; n1 -> out",
        nodes={"n1": "llm"},
        data={"A": {"label": "Collect", "description": "collects"}, "n1": {"label": "LLM 2", "description": "writes"}},
    )
    cards = draw_chart(graph).cards
    assert {node_id: name_of(card) for node_id, card in cards.items()} == {"A": "Collect", "n1": "writes", "out": "out"}


def test_given_more_nodes_than_candidates_the_likeliest_kinds_are_kept_and_the_others_named() -> None:
    names = [f"n{place:02}" for place in range(40)]
    graph = graph_of("; ".join([f"A -> {names[-1]}", *(f"{name} -> out" for name in names)]))
    found = candidates(scene_after(ended(graph, "A", data={"text": "x"}), graph))
    ids = [card.node_id for card in found.cards]
    assert len(ids) == MAX_CANDIDATES
    assert ids[:3] == [names[-1], "out", "A"]
    assert set(ids) | set(found.left_out) == {*names, "A", "out"}


@given(
    task=st.text(max_size=3000),
    output=st.text(max_size=3000),
    signals=st.dictionaries(st.sampled_from(["newRequirements", "note", "hint"]), st.text(max_size=900)),
    others=st.lists(st.text(max_size=900), max_size=12),
)
def test_a_digest_stays_small_whatever_the_run_holds(
    task: str, output: str, signals: Data, others: Sequence[str]
) -> None:
    scene = scene_after(ended(GRAPH, "A", data={"text": output}, signals=signals), inputs={"task": task})
    workspace = scene.workspace
    for place, text in enumerate(others):
        visit = ended(GRAPH, "D", data={f"v{place}": text})
        assert visit.envelope is not None
        workspace = workspace.after(visit.envelope, writer=place + 1)
    text = digest(Scene(scene.chart, scene.inputs, scene.visits, workspace))
    assert tokens_about(text) <= MAX_TOKENS


def test_a_digest_holds_signals_the_branch_and_what_the_node_asks_for() -> None:
    conditions: list[JsonValue] = [{"expression": "it is good"}]
    graph = graph_of(
        "A -[branch-0]-> out; A -[branch-1]-> B",
        nodes={"A": "condition", "B": "llm"},
        data={"A": {"conditions": conditions}},
    )
    data: Data = {"branch": "branch-0", "reason": "fine", "__control__": {"requestRevisit": True, "target": "B"}}
    visit = ended(graph, "A", handle="branch-0", data=data, signals={"newRequirements": ["shorter"]})
    text = digest(scene_after(visit, graph))
    assert "Planned next step: out" in text
    assert "Decided: it is good" in text
    assert 'Asked for: {"requestRevisit":true,"target":"B"}' in text
    assert 'newRequirements: ["shorter"]' in text
