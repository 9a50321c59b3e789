"""The planner's reason as it forms."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyback.engine.agentic.reason_stream import ReasonStream
from flyback.engine.live_text import Instead


def watch(pieces: list[str]) -> list[str]:
    """Return what a person sees after each piece."""
    stream = ReasonStream()
    seen = ""
    shown: list[str] = []
    for piece in pieces:
        told = stream(piece)
        seen = told.text if isinstance(told, Instead) else seen + told
        shown.append(seen)
    return shown


def test_people_see_the_decoded_reason_alone_as_it_forms() -> None:
    pieces = ['{"next": "dr', 'aft", "rea', 'son": "the te', "xt is\\", "n too \\u4e", "2d short", '"', "}"]
    assert (
        watch(pieces)
        == ["", "", "the te", "the text is", "the text is\n too ", "the text is\n too 中 short"]
        + ["the text is\n too 中 short"] * 2
    )


@pytest.mark.parametrize(
    "answer",
    [
        '<think>{"next": "x", "reason": "thought"}</think>{"next": "a", "reason": "said"}',
        '```json\n{"reason": "said", "next": "a"}\n```',
        'I chose {it} like this: {"next": "a", "reason": "said"} thanks',
        "{'next': 'a', 'reason': 'said'}",
        '{"next": "a", "scores": {"reason": "inner", "b": [1, {"reason": "x"}]}, "reason": "said", "more": null}',
        '{"next": "a", "note": "\\"reason\\": \\"no\\"", "reason": "said"}',
        '{"note": "it says \'reason\': \'no\'", "next": "a", "reason": "said"}',
    ],
)
def test_neither_json_nor_thinking_is_ever_shown(answer: str) -> None:
    for shown in watch(list(answer)):
        assert "said".startswith(shown)
    assert watch(list(answer))[-1] == "said"
    assert watch([answer]) == ["said"]


def test_a_later_object_and_the_end_of_a_thought_replace_what_was_shown() -> None:
    assert watch(['{"next":"a","reason":"one"}', ' no: {"next":"b","reason":"two"}']) == ["one", "two"]
    assert watch(['hm {"next":"a","reason":"one"}', "</thi", "nk>", '{"next":"b","reason":"two"}']) == [
        "one",
        "one",
        "",
        "two",
    ]


def test_what_is_shown_is_cut_like_the_reason_that_is_kept() -> None:
    assert watch([json.dumps({"next": "a", "reason": "x" * 900})]) == ["x" * 500]


def test_half_a_character_is_shown_as_a_replacement() -> None:
    assert watch(['{"reason": "a\\ud83d', '\\ude00b\\ud83dc\\ude00"}'])[-1] == "a😀b\ufffdc\ufffd"


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(
    st.dictionaries(st.text().filter(lambda key: key != "reason"), _values, max_size=4),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=500),
    st.lists(st.integers(1, 40), max_size=60),
    st.booleans(),
)
def test_whatever_else_the_object_holds_and_however_it_is_cut_the_reason_is_what_remains(
    other: dict[str, object], reason: str, cuts: list[int], ascii_only: bool
) -> None:
    answer = json.dumps({**other, "reason": reason, "next": "a"}, ensure_ascii=ascii_only)
    if "</think>" in answer:
        return
    pieces: list[str] = []
    for length in cuts:
        pieces.append(answer[:length])
        answer = answer[length:]
    shown = watch([*pieces, answer])
    assert shown[-1] == reason
    assert all(reason.startswith(text) for text in shown)


@given(
    st.lists(st.sampled_from([*list("{}[]\"'\\:, \n"), "reason", "next", "<think>", "</think>", "a", "\\u00", "😀"]))
)
def test_no_text_breaks_it(pieces: list[str]) -> None:
    watch(pieces)
