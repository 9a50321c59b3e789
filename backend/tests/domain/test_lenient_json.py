"""JSON objects are found in whatever a model wraps around them, and prose is left alone."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from flyback.domain.errors import BadJsonError
from flyback.domain.json_value import dumps, loads_strict
from flyback.domain.lenient_json import find_objects, objects_in, read_value

DECISION: dict[str, JsonValue] = {"branch": "branch-1", "reason": 'has {braces} and "quotes"'}
TEXT = dumps(DECISION)


@pytest.mark.parametrize(
    "answer",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```",
        f"~~~JSON\n{TEXT}\n~~~",
        f"Sure! Here is the decision:\n\n```json\n{TEXT}\n```\nLet me know.",
        f"\ufeff{TEXT}",
        f"```json\n{TEXT}",
        f"[{TEXT}]",
        f"{{{TEXT}}}",
        TEXT[:-1] + ",}",
        "{'branch': 'branch-1', 'reason': 'has {braces} and \"quotes\"'}",
        TEXT[:-1],
        TEXT.replace('"branch":', '"branch"：'),
        TEXT.replace(", ", "\n// a remark\n, "),
        f'<think>Maybe {{"branch": "branch-0"}}?</think>{TEXT}',
    ],
)
def test_an_object_is_found_in_fences_prose_and_slightly_broken_json(answer: str) -> None:
    assert objects_in(answer) == [DECISION]


def test_objects_are_listed_in_order_of_appearance() -> None:
    answer = 'Considering {"next": "zzz"} is silly.\n```json\n{"next": "b", "reason": "x"}\n```'
    assert objects_in(answer) == [{"next": "zzz"}, {"next": "b", "reason": "x"}]


def test_an_object_inside_another_belongs_to_it() -> None:
    assert objects_in('{"a": {"b": [{"c": 1}]}} and {"d": 2}') == [{"a": {"b": [{"c": 1}]}}, {"d": 2}]


@pytest.mark.parametrize(
    "prose",
    [
        "",
        "a{color:red}",
        'Python: f"{x!r:>{w}}"',
        "Go: {{.Field}} Set = {1; 2; 3} {x} {some prose: indeed}",
        '{"a"}',
        "{ this, that }",
        "I chose next: b because {it: fits}",
        '"next": "b"',
        "[1, 2]",
    ],
)
def test_prose_is_never_made_into_an_object(prose: str) -> None:
    assert objects_in(prose) == []


@pytest.mark.parametrize(
    ("cut", "found"),
    [
        ('{"next": "b", "reason": "because it', [{"next": "b"}]),
        ('{"next": "bea', []),
        ('{"next": "b", "score": 12', [{"next": "b"}]),
        ('{"next": "b", "reason": "done"\n```\nbye', [{"next": "b", "reason": "done"}]),
    ],
)
def test_an_object_that_was_cut_short_keeps_its_whole_members_only(cut: str, found: list[JsonValue]) -> None:
    assert objects_in(cut) == found


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ('<think>Perhaps {"next": "out", "reason": "quick"}? No, the', []),
        ('<think>Perhaps {"next": "out", "reason": "qui', []),
        ('{"next": "b"} <think>or {"next": "out"}? Hm', [{"next": "b"}]),
        ('<think>It is b.\n```json\n{"next": "b"}\n```\n', [{"next": "b"}]),
        ('{"next": "b", "reason": "it says <think>"} Done.', [{"next": "b", "reason": "it says <think>"}]),
    ],
)
def test_of_thinking_that_never_ended_only_an_object_that_ends_the_answer_counts(
    answer: str, found: list[JsonValue]
) -> None:
    assert objects_in(answer) == found


@pytest.mark.parametrize(
    "answer",
    [
        '["a", 1]',
        '```json\n["a", 1]\n```',
        'Here it is:\n~~~\n["a", 1]\n~~~\nAnything else?',
        '```\n["a", 1]',
        '<think>["b"]</think>["a", 1]',
        '<think>Hm.</think>\n```json\n["a", 1]\n```',
        '```\n[0]\n```\nNo, this:\n```\n["a", 1]\n```',
    ],
)
def test_the_value_of_an_answer_is_found_as_it_is_or_in_a_fence(answer: str) -> None:
    assert read_value(answer) == (["a", 1], [])


def test_a_value_may_hold_what_looks_like_the_end_of_thinking() -> None:
    assert read_value('["it ends with </think>"]') == (["it ends with </think>"], [])


@pytest.mark.parametrize("answer", ["", "nothing", "```\nnothing\n```", '["a"'])
def test_an_answer_without_a_value_is_said(answer: str) -> None:
    with pytest.raises(BadJsonError):
        read_value(answer)


def test_a_comma_too_many_is_mended_in_an_answer_of_any_length() -> None:
    long = "x" * 400_000
    assert objects_in(f'{{"text": "{long}", "tags": ["a,]",],}}') == [{"text": long, "tags": ["a,]"]}]


@pytest.mark.parametrize("sign", ["", "-"])
def test_an_integer_of_4300_digits_is_exact(sign: str) -> None:
    digits = sign + "9" * 4300
    assert objects_in(f'{{"v": {digits}}}') == [{"v": int(digits)}]


def test_values_that_json_cannot_carry_are_mended_with_a_note() -> None:
    (found,) = find_objects('{"v": {"nan": NaN, "inf": -Infinity, "deep": 1e400, "dup": 1, "dup": 2}}')
    assert found.value == {"v": {"nan": None, "inf": None, "deep": None, "dup": 2}}
    assert len(found.notes) == 4


@given(st.text(st.sampled_from("{}[]\"':,\\ \nab1`/“”")) | st.text())
def test_any_answer_can_be_read(answer: str) -> None:
    for found in objects_in(answer):
        assert loads_strict(dumps(found)) == found


@given(
    st.text(st.characters(exclude_characters="{}", exclude_categories=("Cs",))).filter(
        lambda text: "think>" not in text
    ),
    st.dictionaries(st.text(min_size=1), st.integers() | st.text() | st.booleans(), min_size=1, max_size=4),
)
def test_an_exact_object_is_found_whatever_stands_before_it(prose: str, value: dict[str, JsonValue]) -> None:
    text = dumps(value)
    if "</think>" not in text:
        assert objects_in(prose + text) == [loads_strict(text.replace("\\u0000", "\\ufffd"))]


@pytest.mark.parametrize(
    "hostile",
    [
        '{"a":' * 200_000,
        '{"a":["' + '\\"' * 400_000,
        '{"a":"b" ' * 100_000,
        "{'a': " + "'b " * 300_000,
        '{"a":1,}' * 120_000,
        "{'a' : [" * 120_000,
        "{ " * 500_000,
        '{"a":x' + "\n" * 900_000,
        '{"a":"' + 'b"c ' * 250_000,
        '{"a":1,' + "," * 1_000_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_hostile_answer_is_read_in_bounded_time(hostile: str) -> None:
    started = time.perf_counter()
    objects_in(hostile)
    assert time.perf_counter() - started < 5
