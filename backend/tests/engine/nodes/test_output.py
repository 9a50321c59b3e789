"""The output node, the template node and the aggregate node: what a run gives."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from flyback.domain.run import RunStatus
from kit.drawing import when
from kit.studio import Data, Studio

PICK = when("go", "left")
ARMS = "in -> pick; pick -[branch-0]-> a -> out; pick -[branch-1]-> b -> out"


# Output, in DAG mode.


async def test_a_template_is_filled_in_and_references_to_skipped_nodes_render_as_nothing(studio: Studio) -> None:
    graph = studio.draw(
        ARMS, pick=PICK, a={"label": "Left arm"}, out={"template": "[{{a.text}}][{{Left arm.text}}][{{b.text}}]"}
    )
    run = await studio.run(graph, inputs={"go": "right"}, answers={"b": "B"})
    assert run.result == "[][][B]"
    assert run.end.outputs[0].unresolved == ()


async def test_what_nothing_wrote_stays_and_the_result_lists_it(studio: Studio) -> None:
    graph = studio.draw("in -> a -> out", out={"template": "{{a.text}} {{gone.text}}"})
    run = await studio.run(graph, answers=["A"])
    assert run.result == "A {{gone.text}}"
    assert run.end.outputs[0].unresolved == ("gone.text",)
    complete = run.events[-1].data
    assert complete["outputs"] == [{"nodeId": "out", "result": "A {{gone.text}}", "unresolved": ["gone.text"]}]


async def test_without_a_template_it_looks_through_conditions_and_takes_the_live_predecessor(studio: Studio) -> None:
    graph = studio.draw("in -> a -> pick; pick -[branch-1]-> out", pick=PICK)
    run = await studio.run(graph, inputs={"go": "right"}, answers={"a": "A"})
    assert run.result == "A"


@pytest.mark.parametrize(
    ("kind", "result"), [("text", "A\n\nB"), ("markdown", "A\n\nB"), ("json", {"a": "A", "b": "B"})]
)
async def test_several_predecessors_are_joined(studio: Studio, kind: str, result: JsonValue) -> None:
    graph = studio.draw("in -> a -> out; in -> b -> out", out={"outputType": kind})
    run = await studio.run(graph, answers={"a": "A", "b": "B"})
    assert run.result == result


async def test_one_value_is_given_as_it_is(studio: Studio) -> None:
    graph = studio.draw("in -> a -> out", a={"outputs": [{"name": "n", "type": "integer"}]}, out={"outputType": "json"})
    run = await studio.run(graph, answers=['{"n": 3}'])
    assert run.result == 3


async def test_named_values_make_an_object_and_keep_their_types(studio: Studio) -> None:
    outputs: JsonValue = [
        {"name": "count", "value": "{{a.n}}"},
        {"name": "line", "value": "n = {{a.n}}"},
        {"name": "n"},
        {"name": "fixed", "value": True},
    ]
    graph = studio.draw(
        "in -> a -> out",
        a={"outputs": [{"name": "n", "type": "integer"}]},
        out={"outputType": "json", "outputs": outputs},
    )
    run = await studio.run(graph, answers=['{"n": 3}'])
    assert run.result == {"count": 3, "line": "n = 3", "n": 3, "fixed": True}


async def test_what_is_mended_in_a_result_is_noted(studio: Studio) -> None:
    graph = studio.draw("in -> a -> out", out={"outputType": "json", "template": '{"t": {{a.text}}}'})
    run = await studio.run(graph, answers=["NaN"])
    assert (run.result, run.meta("out")) == (
        {"t": None},
        {"mended": ["t: a number that JSON cannot carry became null"]},
    )


async def test_a_template_of_json_gives_json_and_says_where_it_is_none(studio: Studio) -> None:
    fenced = "Here:\n```json\n[{{a.text}}]\n```"
    for template, result in (('{"t": {{a.text}}}', {"t": 5}), (fenced, [5]), ("t: {{a.text}}", "t: 5")):
        graph = studio.draw("in -> a -> out", out={"outputType": "json", "template": template})
        run = await studio.run(graph, answers=["5"])
        assert run.result == result
        assert ("notJson" in run.meta("out")) is (result == "t: 5")


# Output, in AGENTIC mode.


async def test_without_a_template_it_takes_the_latest_value_of_a_visit_that_has_one(studio: Studio) -> None:
    graph = studio.draw("ask -> a -> pick; pick -[branch-1]-> out", pick=PICK)
    run = await studio.run(
        graph, inputs={"go": "right"}, planner=["a", "pick", "ask", "out"], answers=["A"], queued={"ask": [{}]}
    )
    assert run.result == "A"


async def test_where_there_is_nothing_else_it_takes_what_the_person_gave(studio: Studio) -> None:
    graph = studio.draw("ask -> out", ask={"variables": [{"name": "q"}]})
    run = await studio.run(graph, inputs={"q": "hello"}, planner=["out"])
    assert run.result == "hello"


async def test_chosen_by_the_planner_with_nothing_to_give_it_fails_and_the_planner_goes_on(studio: Studio) -> None:
    graph = studio.draw("ask -> a -> out", out={"template": "{{a.text}}{{b.text}}"})
    run = await studio.run(graph, planner=["out", "a", "out"], answers={"a": "A"})
    first, second = run.visits_of("out")
    assert first.error is not None
    assert first.error.code == "OUTPUT_EMPTY"
    assert "'a.text', 'b.text'" in first.error.message
    assert second.error is None
    assert run.result == "A{{b.text}}"
    assert run.end.outputs[0].unresolved == ("b.text",)


async def test_reached_by_a_fallback_it_always_ends_the_run(studio: Studio) -> None:
    graph = studio.draw("ask -> out", out={"template": "{{a.text}}"})
    run = await studio.run(graph, planner=[{"httpError": 500}, {"httpError": 500}])
    assert run.status is RunStatus.SUCCESS
    assert run.result == "{{a.text}}"


# Template.


async def test_a_template_node_writes_under_the_name_it_says(studio: Studio) -> None:
    graph = studio.draw("in -> t -> out", t={"type": "template", "template": "Hi {{q}}", "outputName": "greeting"})
    run = await studio.run(graph, inputs={"q": "you"})
    assert run.output("t") == {"greeting": "Hi you"}
    assert run.result == "Hi you"


async def test_a_template_beyond_five_mebibytes_is_cut_and_marked(studio: Studio) -> None:
    graph = studio.draw("in -> t -> out", t={"type": "template", "template": "{{q}}" * 6})
    run = await studio.run(graph, inputs={"q": "é" * 500_000})
    text = run.output("t")["text"]
    assert isinstance(text, str)
    assert 5 * 1024 * 1024 - 1 <= len(text.encode()) <= 5 * 1024 * 1024
    assert run.meta("t")["cut"] is True


# Aggregate.


@pytest.mark.parametrize(("go", "value"), [("left", "A"), ("right", "B")])
async def test_an_aggregate_takes_the_value_of_the_branch_that_ran(studio: Studio, go: str, value: str) -> None:
    named: Data = {"variables": ["{{a.text}}", "b.text"]}
    for data in (named, {}):
        graph = studio.draw(
            "in -> pick; pick -[branch-0]-> a -> agg; pick -[branch-1]-> b -> agg; agg -> out",
            pick=PICK,
            agg={"type": "aggregate", **data},
        )
        run = await studio.run(graph, inputs={"go": go}, answers={"a": "A", "b": "B"})
        assert run.output("agg") == {"value": value}
        assert "unresolved" not in run.meta("agg")


async def test_an_aggregate_in_agentic_mode_takes_what_was_written_last(studio: Studio) -> None:
    graph = studio.draw("ask -> a -> b -> agg -> out", agg={"type": "aggregate", "variables": ["a.text", "b.text"]})
    run = await studio.run(graph, planner=["b", "a", "agg", "b", "agg", "out"], answers=["B1", "A1", "B2"])
    assert [visit.data["value"] for visit in run.visits_of("agg")] == ["A1", "B2"]


async def test_an_aggregate_of_nothing_is_null(studio: Studio) -> None:
    graph = studio.draw("in -> agg -> out", agg={"type": "aggregate", "variables": ["a.text"]})
    run = await studio.run(graph)
    assert run.output("agg") == {"value": None}
    # and no text, where the result is one
    assert run.result == ""
