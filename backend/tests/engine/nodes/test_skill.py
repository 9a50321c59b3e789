"""The skill and agent nodes: a folder's instructions, its inputs from the workspace, its declared outputs."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from flyback.engine.ports import Skill, SkillField
from kit.studio import Studio

REVIEW = Skill(
    skill_id="review",
    name="Review",
    description="Reviews a text.",
    body="You review texts.",
    inputs=(SkillField("draft", required=True), SkillField("tone")),
    outputs=(SkillField("verdict"), SkillField("score", "integer")),
)
PLAIN = Skill(skill_id="plain", name="Plain", description="", body="You answer.")
KINDS = ("skill", "agent")


@pytest.mark.parametrize("kind", KINDS)
async def test_its_body_is_the_system_prompt_and_its_inputs_come_from_the_workspace(studio: Studio, kind: str) -> None:
    studio.add_skill(REVIEW)
    graph = studio.draw("in -> r -> out", r={"type": kind, "agentId": "review"})
    run = await studio.run(graph, inputs={"draft": "It was a dark night."}, answers=['{"verdict": "ok", "score": 4}'])
    system, user = run.asked("r")[0].prompt
    assert system.text.startswith("You review texts.\n\nAnswer with one JSON object")
    assert user.text == "draft: It was a dark night."
    assert run.output("r") == {"verdict": "ok", "score": 4}
    assert "unresolved" not in run.meta("r")


@pytest.mark.parametrize("kind", KINDS)
async def test_what_the_node_gives_goes_before_what_the_workspace_has(studio: Studio, kind: str) -> None:
    studio.add_skill(REVIEW)
    ways: list[JsonValue] = [{"draft": "<{{a.text}}>"}, [{"name": "draft", "value": "<{{a.text}}>"}]]
    for inputs in ways:
        graph = studio.draw("in -> a -> r -> out", r={"type": kind, "agentId": "review", "inputs": inputs})
        run = await studio.run(graph, inputs={"draft": "x"}, answers={"a": "A", "r": '{"verdict": "v", "score": 1}'})
        assert run.prompts_of("r")[-1] == "draft: <A>"


async def test_a_required_input_that_nothing_wrote_is_listed(studio: Studio) -> None:
    studio.add_skill(REVIEW)
    graph = studio.draw("in -> r -> out", r={"type": "skill", "agentId": "review"})
    run = await studio.run(graph, answers=['{"verdict": "?", "score": 0}'])
    assert run.meta("r")["unresolved"] == ["draft"]


@pytest.mark.parametrize("kind", KINDS)
async def test_without_declared_inputs_and_outputs_it_takes_what_leads_to_it_and_gives_text(
    studio: Studio, kind: str
) -> None:
    studio.add_skill(PLAIN)
    graph = studio.draw("in -> a -> r -> out", r={"type": kind, "agentId": "plain"})
    run = await studio.run(graph, answers={"a": "the draft", "r": "fine"})
    assert run.prompts_of("r") == ["the draft"]
    assert run.output("r") == {"text": "fine"}


async def test_an_agent_has_a_task(studio: Studio) -> None:
    studio.add_skill(REVIEW)
    graph = studio.draw("in -> r -> out", r={"type": "agent", "agentId": "review", "task": "Be strict on {{draft}}."})
    run = await studio.run(graph, inputs={"draft": "D"}, answers=['{"verdict": "no", "score": 1}'])
    assert run.prompts_of("r") == ["Be strict on D.\n\ndraft: D"]


async def test_a_skill_that_does_not_exist_is_a_failure(studio: Studio) -> None:
    run = await studio.run(studio.draw("in -> r -> out", r={"type": "skill", "agentId": "gone"}))
    assert run.failure("r").code == "SKILL_NOT_FOUND"


@pytest.mark.parametrize("kind", KINDS)
async def test_every_visit_is_told_why_it_was_sent_and_what_there_is(studio: Studio, kind: str) -> None:
    # given an agent that is visited twice
    studio.add_skill(PLAIN)
    graph = studio.draw("ask -> r -> out", r={"type": kind, "agentId": "plain"})
    run = await studio.run(
        graph,
        inputs={"topic": "tides"},
        planner=[{"next": "r", "reason": "begin"}, {"next": "r", "reason": "the user wants more"}, "out"],
        answers={"r": ["first", "second"]},
    )
    # then both are told, the second what it gave before
    first, second = run.prompts_of("r")
    assert "The planner sent you here because: begin" in first
    assert "- topic: tides" in first
    assert "The planner sent you here because: the user wants more" in second
    assert "What this node gave at its last visit:\nfirst" in second
