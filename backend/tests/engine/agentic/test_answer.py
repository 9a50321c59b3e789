"""Reading the planner's answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyback.domain.graph import NodeId
from flyback.engine.agentic.answer import REASON_CHARACTERS, Answer, Names, Unusable, read_answer

NAMES = Names(
    {
        NodeId("draft"): "Write a draft",
        NodeId("Review-2"): "Review",
        NodeId("out"): "Answer",
        NodeId("out2"): "Answer",
        NodeId("节点1"): "查天气",
        NodeId("7"): "Seven",
    }
)


def read(text: str) -> Answer | Unusable:
    return read_answer(text, NAMES)


@pytest.mark.parametrize(
    "text",
    [
        '{"next": "draft", "reason": "go"}',
        '```json\n{"next": "draft", "reason": "go"}\n```',
        '~~~\n{"next": "draft", "reason": "go"}\n~~~',
        '```json\n{"next": "draft", "reason": "go"}',
        'Sure! I would say {"next": "draft", "reason": "go"}. Does that help?',
        "{'next': 'draft', 'reason': 'go',}",
        '\ufeff{"next": "draft", "reason": "go"}',
        '{"reason": "go", "confidence": 0.9, "next": "draft"}',
        '<think>Perhaps {"next": "out", "reason": "quick"}?</think>\n{"next": "draft", "reason": "go"}',
        'no opening tag {"next": "out", "reason": "x"} </think> {"next": "draft", "reason": "go"}',
    ],
)
def test_an_answer_is_found_in_fences_prose_thinking_and_slightly_broken_json(text: str) -> None:
    assert read(text) == Answer(NodeId("draft"), "go")


def test_of_several_objects_the_last_one_that_names_a_node_of_the_list_counts() -> None:
    text = '{"next": "out", "reason": "a"} {"next": "draft", "reason": "b"} {"next": "zzz", "reason": "c"} {"note": 1}'
    assert read(text) == Answer(NodeId("draft"), "b")


def test_a_reason_may_hold_braces_and_quotes() -> None:
    found = read(
        'Considering {"next": "zzz"} is silly.\n```json\n{"next": "draft", "reason": "has {braces} and \\"quotes\\""}\n```'
    )
    assert found == Answer(NodeId("draft"), 'has {braces} and "quotes"')


@pytest.mark.parametrize(
    ("name", "node_id"),
    [
        ("Review-2", "Review-2"),
        (" review-2 ", "Review-2"),
        ("`review-2`", "Review-2"),
        ("REVIEW - 2", "Review-2"),
        ("「节点1」", "节点1"),
        ("Review", "Review-2"),
        ("查天气", "节点1"),
        (" Write a draft ", "draft"),
    ],
)
def test_a_name_is_an_id_or_loosely_an_id_or_a_label_that_one_node_carries(name: str, node_id: str) -> None:
    assert read(json.dumps({"next": name})) == Answer(NodeId(node_id), "")


def test_an_id_that_was_answered_as_a_number_is_an_id_without_its_quotes() -> None:
    assert read('{"next": 7, "reason": "lucky"}') == Answer(NodeId("7"), "lucky")


@pytest.mark.parametrize("name", ["Answer", "Revie", "draft.", "draft or out", "write a draft!", "", "null"])
def test_nothing_is_guessed_beyond_that(name: str) -> None:
    found = read(json.dumps({"next": name, "reason": "x"}))
    assert isinstance(found, Unusable)
    assert repr(name) in found.why


def test_ids_that_differ_in_case_alone_match_exactly_or_not_at_all() -> None:
    names = Names({NodeId("a"): "one", NodeId("A"): "two"})
    assert read_answer('{"next": "A"}', names) == Answer(NodeId("A"), "")
    assert isinstance(read_answer('{"next": "`a`"}', Names({NodeId("x a"): "1", NodeId("XA"): "2"})), Unusable)


@pytest.mark.parametrize("text", ["", "   \n", "draft", "{next", "[]", '{"reason": "no next"}', "null", "{" * 5000])
def test_an_answer_without_a_next_is_unusable_and_says_why(text: str) -> None:
    found = read(text)
    assert isinstance(found, Unusable)
    assert found.why


def test_a_long_reason_is_kept_up_to_500_characters_and_is_no_ground_for_rejection() -> None:
    found = read(json.dumps({"next": "draft", "reason": "x" * 9000}))
    assert found == Answer(NodeId("draft"), "x" * REASON_CHARACTERS)


def test_a_reason_that_is_no_text_is_kept_as_json() -> None:
    assert read('{"next": "draft", "reason": ["a", 1]}') == Answer(NodeId("draft"), '["a",1]')


def test_in_a_chinese_workflow_it_says_why_in_chinese() -> None:
    found = read_answer('{"next": "zzz"}', NAMES, chinese=True)
    assert found == Unusable("列表中没有节点 'zzz'")


@given(st.text())
def test_no_text_breaks_the_reading(text: str) -> None:
    read(text)


@given(st.sampled_from(["draft", "Review-2", "out", "节点1"]), st.text(max_size=400), st.text(max_size=50))
def test_what_was_written_as_json_is_read_as_it_was_meant(node_id: str, reason: str, before: str) -> None:
    text = before.replace("{", "(").replace("</think>", "") + json.dumps({"next": node_id, "reason": reason})
    found = read(text)
    assert isinstance(found, Answer)
    assert found.next == node_id
    if reason.isascii() and "\x00" not in reason and "</think>" not in reason:
        assert found.reason == reason
