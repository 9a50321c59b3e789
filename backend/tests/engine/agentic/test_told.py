"""What a visit is told of why it was sent."""

from __future__ import annotations

from engine.agentic.drawings import graph_of
from engine.agentic.stage import Stage
from flyback.engine.ports import Skill


async def test_every_visit_can_use_the_reason_its_number_and_where_it_was_sent_from() -> None:
    prompt = "[{{visit.reason}}|{{visit.iterSeq}}|{{visit.fromNode}}|{{visit.requirements}}]"
    graph = graph_of("A -> B; B -> out", data={"A": {"userPrompt": prompt}})
    run = await Stage().run(
        graph,
        planner=["B", {"next": "A", "reason": "too long"}, {"next": "A", "reason": "still {{visit.iterSeq}}"}, "out"],
        answers={"A": ["a1", "a2", "a3"], "B": "b"},
    )
    assert run.prompts_of("A") == ["[|1||]", "[too long|2|B|]", "[still {{visit.iterSeq}}|3|A|]"]


async def test_an_llm_node_that_is_visited_again_learns_why_without_asking() -> None:
    graph = graph_of("A -> B; B -> out", data={"A": {"userPrompt": "Write."}})
    run = await Stage().run(
        graph,
        planner=["B", {"next": "A", "reason": "too long"}, "out"],
        answers={"A": ["the first draft", "a2"], "B": "b"},
    )
    first, second = run.prompts_of("A")
    assert first == "Write."
    assert second.startswith("Write.")
    assert "too long" in second
    assert "the first draft" in second
    assert "visit 3 of the run" in second
    assert "- B__text: b" in second


async def test_an_agent_is_told_at_its_first_visit_already() -> None:
    graph = graph_of(
        "A -> find; find -> out", nodes={"find": "agent"}, data={"find": {"agentId": "finder", "task": "Find."}}
    )
    stage = Stage()
    stage.add_skill(Skill("finder", "Finder", "Finds facts", "You find facts."))
    run = await stage.run(
        graph, planner=[{"next": "find", "reason": "facts are missing"}, "out"], answers={"A": "a", "find": "f"}
    )
    (prompt,) = run.prompts_of("find")
    assert "facts are missing" in prompt
    assert "A__text" in prompt


async def test_the_planner_is_told_what_a_skill_is_for_and_what_it_gives() -> None:
    graph = graph_of("A -> find; find -> out", nodes={"find": "agent"}, data={"find": {"agentId": "finder"}})
    stage = Stage()
    stage.add_skill(Skill("finder", "Finder", "Finds facts", "…"))
    run = await stage.run(graph, planner=["out"], answers={"A": "a"})
    (call,) = run.asked("A", role="planner")
    assert '- "find" (agent) find: Finds facts' in call.prompt[-1].text


async def test_a_skill_that_cannot_be_found_is_no_hindrance_to_the_planner() -> None:
    graph = graph_of("A -> find; find -> out", nodes={"find": "agent"}, data={"find": {"agentId": "nobody"}})
    run = await Stage().run(graph, planner=["find", "out"], answers={"A": "a"})
    assert run.path == ["A", "find", "out"]
    assert run.visits[1].error is not None
    assert run.visits[1].error.code == "SKILL_NOT_FOUND"
