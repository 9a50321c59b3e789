"""The condition node: rules by code, expressions by one call, ELSE when nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from flyback.domain.run import NO_USAGE, RunStatus
from flyback.engine.ports import CallSite, Decider, Verdict
from flyback.engine.rules import Operator, holds
from flyback.providers.scripted import ScriptedModel
from kit.studio import Data, Reply, Studio

ARMS = "in -> c; c -[branch-0]-> x -> out; c -[branch-1]-> y -> out; c -[branch-2]-> z -> out"
EXPRESSIONS: Data = {
    "type": "condition",
    "conditions": [{"type": "IF", "expression": "it is a complaint"}, {"type": "ELIF", "expression": "it is praise"}],
}
ANSWERS: dict[str, Reply | Sequence[Reply]] = {"x": "x", "y": "y", "z": "z"}


def rules(*items: JsonValue, match: str = "all") -> JsonValue:
    return {"rules": {"match": match, "items": list(items)}}


def rule(variable: str, operator: str, value: JsonValue = None) -> JsonValue:
    return {"variable": variable, "operator": operator, "value": value}


# Rules.


@pytest.mark.parametrize(
    ("operator", "left", "right", "expected"),
    [
        ("eq", 3, "3", True),
        ("eq", "3.0", 3, True),
        ("eq", "a", "A", False),
        ("eq", True, "true", True),
        ("eq", True, 1, False),
        ("eq", None, "", True),
        ("eq", [1, 2], "[1,2]", True),
        ("ne", "a", "b", True),
        ("gt", "10", 9, True),
        ("gt", "10", "9", True),
        ("gt", "2026-02-01", "2026-01-31", True),
        ("gt", "b", 1, False),
        ("ge", 3, 3, True),
        ("lt", 1.5, 2, True),
        ("le", None, 2, False),
        ("contains", "tides and winds", "winds", True),
        ("contains", ["a", 3], "3", True),
        ("contains", {"k": 1}, "k", True),
        ("contains", None, "x", False),
        ("notContains", None, "x", True),
        ("startsWith", "tides", "ti", True),
        ("endsWith", "tides", "des", True),
        ("in", "b", "a, b, c", True),
        ("in", 3, [1, 2, 3], True),
        ("in", "d", ["a"], False),
        ("in", "a", '["a", "b"]', True),
        ("in", "1", "[1, 2]", True),
        ("in", "[1", "[1, 2]", False),
        ("in", None, "a, b,", False),
        ("in", "", "a,, b", False),
        ("empty", "  ", None, True),
        ("empty", [], None, True),
        ("empty", 0, None, False),
        ("empty", False, None, False),
        ("notEmpty", "x", None, True),
        ("gt", 9007199254740993, 9007199254740992, True),
    ],
)
def test_operators(operator: Operator, left: JsonValue, right: JsonValue, expected: bool) -> None:
    assert holds(operator, left, right) is expected


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(left=json_values, right=json_values)
def test_no_rule_ever_breaks_and_opposites_disagree(left: JsonValue, right: JsonValue) -> None:
    opposites: list[tuple[Operator, Operator]] = [("eq", "ne"), ("contains", "notContains"), ("empty", "notEmpty")]
    for one, other in opposites:
        assert holds(one, left, right) is not holds(other, left, right)
    assert not (holds("gt", left, right) and holds("lt", left, right))
    assert holds("in", left, right) in (True, False)


@pytest.mark.parametrize(
    ("operator", "value", "taken"),
    [
        ("in", "{{list}}", "branch-0"),
        ("in", ["{{other}}", "b"], "branch-1"),
        ("in", ["{{other}}", "{{n}}"], "branch-0"),
        ("eq", "{{nothing?}}", "branch-1"),
        ("eq", "{{null}}", "branch-1"),
        ("eq", "{{n}}", "branch-0"),
        ("eq", "{{other}}{{n}}", "branch-1"),
    ],
)
async def test_a_rule_compares_with_the_value_that_a_reference_names(
    studio: Studio, operator: str, value: JsonValue, taken: str
) -> None:
    graph = studio.draw(ARMS, c={"type": "condition", "conditions": [rules(rule("n", operator, value))]})
    inputs: dict[str, JsonValue] = {"n": "a, 7", "list": [1, "a, 7"], "other": "x", "null": None}
    run = await studio.run(graph, inputs=inputs, answers=ANSWERS)
    assert run.output("c")["branch"] == taken


async def test_the_first_branch_whose_rules_hold_is_taken_without_a_model(studio: Studio) -> None:
    graph = studio.draw(
        ARMS,
        c={"type": "condition", "conditions": [rules(rule("n", "gt", 10)), rules(rule("{{n}}", "gt", "{{limit}}"))]},
    )
    run = await studio.run(graph, inputs={"n": 7, "limit": 5}, answers=ANSWERS)
    assert run.output("c") == {"branch": "branch-1", "reason": "the rule holds: {{n}} gt {{limit}}"}
    assert run.asked("c") == []
    assert run.result == "y"


@pytest.mark.parametrize(("match", "taken"), [("all", "z"), ("any", "x")])
async def test_all_or_any_of_the_items(studio: Studio, match: str, taken: str) -> None:
    both = rules(rule("a", "eq", 1), rule("b", "eq", 1), match=match)
    graph = studio.draw(ARMS, c={"type": "condition", "conditions": [both, rules(rule("a", "eq", 9))]})
    run = await studio.run(graph, inputs={"a": 1, "b": 2}, answers=ANSWERS)
    assert run.result == taken


async def test_a_variable_that_does_not_exist_is_empty_and_no_remark(studio: Studio) -> None:
    graph = studio.draw(ARMS, c={"type": "condition", "conditions": [rules(rule("gone", "empty"))]})
    run = await studio.run(graph, answers=ANSWERS)
    assert run.result == "x"
    assert "unresolved" not in run.meta("c")


# Expressions.


async def test_what_is_left_is_put_to_the_model_in_one_call(studio: Studio) -> None:
    graph = studio.draw(ARMS, c=EXPRESSIONS)
    run = await studio.run(
        graph, inputs={"q": "lovely"}, answers={**ANSWERS, "c": [{"branch": "branch-1", "reason": "kind"}]}
    )
    assert run.output("c") == {"branch": "branch-1", "reason": "kind"}
    assert (run.statuses["x"], run.statuses["y"], run.statuses["z"]) == ("SKIPPED", "SUCCESS", "SKIPPED")
    (prompt,) = run.prompts_of("c")
    assert "- q: lovely" in prompt
    assert "- branch-0: it is a complaint\n- branch-1: it is praise\n- branch-2 (ELSE): " in prompt


@pytest.mark.parametrize(
    "form",
    [
        "{D}",
        "```json\n{D}\n```",
        "~~~JSON\n{D}\n~~~",
        "Sure! Here is the decision:\n\n```json\n{D}\n```\nLet me know.",
        "\ufeff{D}",
        "{D}\n{D}",
        "```json\n{D}",
        '{"branch": "branch-1", "reason": "ok",}',
        "{'branch': 'branch-1', 'reason': 'ok'}",
        '<think>{"branch": "branch-0"}</think>{D}',
        '{"branch": " Branch-1 "}',
        '{"branch": "「branch-1」"}',
        '{"branch": "it is praise"}',
        '{D} <think>or {"branch": "branch-0"}? Hm',
    ],
)
async def test_the_answer_is_read_leniently(studio: Studio, form: str) -> None:
    graph = studio.draw(ARMS, c=EXPRESSIONS)
    text = form.replace("{D}", '{"branch": "branch-1", "reason": "ok"}')
    run = await studio.run(graph, answers={**ANSWERS, "c": [{"text": text}]})
    assert run.result == "y"


async def test_what_cannot_be_read_is_asked_once_more(studio: Studio) -> None:
    graph = studio.draw(ARMS, c=EXPRESSIONS)
    run = await studio.run(graph, answers={**ANSWERS, "c": [{"text": "hm"}, {"branch": "branch-0"}]})
    assert run.result == "x"
    again = run.asked("c")[1].prompt
    assert [message.role for message in again] == ["system", "user", "assistant", "user"]
    assert "names none of branch-0, branch-1, branch-2" in again[-1].text


async def test_what_cannot_be_read_twice_takes_else_and_the_record_says_why(studio: Studio) -> None:
    graph = studio.draw(ARMS, c=EXPRESSIONS)
    run = await studio.run(graph, answers={**ANSWERS, "c": [{"text": "hm"}, {"text": "branch seven"}]})
    assert run.output("c") == {"branch": "branch-2", "reason": "The model's answer could not be read: ELSE was taken."}
    assert run.meta("c")["rawAnswer"] == "branch seven"
    assert "names none of" in str(run.meta("c")["cause"])
    assert run.result == "z"


async def test_a_model_that_cannot_be_reached_is_a_failure(studio: Studio) -> None:
    graph = studio.draw(ARMS, c={**EXPRESSIONS, "maxRetries": 1})
    run = await studio.run(graph, answers={"c": [{"httpError": 500}, {"httpError": 500}]})
    assert run.status is RunStatus.FAILED
    assert run.failure("c").code == "MODEL_UNAVAILABLE"


async def test_the_models_answer_is_not_shown_as_live_text(studio: Studio) -> None:
    graph = studio.draw(ARMS, c=EXPRESSIONS)
    await studio.run(graph, answers={**ANSWERS, "c": [{"branch": "branch-0"}]})
    assert [text for text in studio.watcher.texts if text.node_id == "c"] == []


# Both, in order.


async def test_rules_that_hold_before_any_expression_need_no_model(studio: Studio) -> None:
    branches: JsonValue = [rules(rule("vip", "eq", True)), {"expression": "it is urgent"}]
    graph = studio.draw(ARMS, c={"type": "condition", "conditions": branches})
    run = await studio.run(graph, inputs={"vip": True}, answers=ANSWERS)
    assert run.result == "x"
    assert run.asked("c") == []


@pytest.mark.parametrize(("said", "taken"), [("branch-0", "x"), ("branch-1", "y")])
async def test_an_expression_before_rules_that_hold_is_asked_first(studio: Studio, said: str, taken: str) -> None:
    # given an expression, then rules that hold, then another expression that can no longer matter
    branches: JsonValue = [{"expression": "it is urgent"}, rules(rule("vip", "eq", True)), {"expression": "it rains"}]
    graph = studio.draw(ARMS, c={"type": "condition", "conditions": branches})
    # when the model is asked
    run = await studio.run(graph, inputs={"vip": True}, answers={**ANSWERS, "c": [{"branch": said}]})
    # then it chooses between the expression and what code has decided
    assert run.result == taken
    assert "it rains" not in run.prompts_of("c")[0]


async def test_without_any_branch_else_is_taken(studio: Studio) -> None:
    graph = studio.draw("in -> c; c -[branch-0]-> x -> out", c={"type": "condition"})
    assert (await studio.run(graph, answers=ANSWERS)).result == "x"


# By likelihood.


class Judge:
    """A decider that finds one claim likely."""

    def __init__(self, scores: Sequence[float]) -> None:
        self.scores = scores
        self.heard: list[tuple[str, Sequence[str]]] = []

    async def decide(self, text: str, claims: Sequence[str], *, site: CallSite) -> Verdict:
        self.heard.append((text, claims))
        return Verdict(self.scores, NO_USAGE, "small")


class JudgingModel(ScriptedModel):
    def __init__(self, studio: Studio, decider: Decider) -> None:
        super().__init__(clock=studio.clock, journal=studio.journal, name="small")
        self.decider = decider


@pytest.mark.parametrize(
    ("scores", "taken"), [([-1.0, 2.5], "branch-1"), ([0.4, 0.2], "branch-0"), ([-1, -0.1], "branch-2")]
)
async def test_a_small_model_judges_the_expressions_and_else_is_taken_when_none_is_likely(
    studio: Studio, scores: Sequence[float], taken: str
) -> None:
    # given a model that is asked by likelihood
    judge = Judge(scores)
    studio.shelf.models["small"] = JudgingModel(studio, judge)
    graph = studio.draw(ARMS, c={**EXPRESSIONS, "model": "small"})
    # when it judges
    run = await studio.run(graph, inputs={"q": "lovely"}, answers=ANSWERS)
    # then the likeliest wins, and its scores are kept
    assert run.output("c")["branch"] == taken
    assert judge.heard == [("lovely", ["it is a complaint", "it is praise"])]
    assert run.meta("c")["method"] == "likelihood"
    assert run.calls[0].response == {"scores": list(scores)}
