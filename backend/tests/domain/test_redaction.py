"""Redaction: no spelling of a secret that is known stays in what is written."""

from __future__ import annotations

import base64
import json
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from flyback.domain.redaction import MARK, Redactor

SECRET = 'sk-Very+secret/key=1 "ü"'


def knowing(*secrets: str) -> Redactor:
    redactor = Redactor()
    redactor.learn(*secrets)
    return redactor


@pytest.mark.parametrize(
    "text",
    [
        f"Bearer {SECRET}",
        f"https://x/?key={quote(SECRET)}&b=1",
        f"https://x/?key={quote(SECRET, safe='')}&b=1",
        f"https://x/?key={quote_plus(SECRET)}",
        json.dumps({"key": SECRET}),
        json.dumps({"key": SECRET}, ensure_ascii=False),
        SECRET.encode().hex(),
    ],
)
def test_every_spelling_of_a_secret_is_taken_out(text: str) -> None:
    cleaned = knowing(SECRET).text(text)
    assert MARK in cleaned
    assert "Very" not in cleaned


@given(before=st.binary(max_size=7), after=st.binary(max_size=7), secret=st.text(min_size=9, max_size=40))
def test_a_secret_inside_of_base64_is_taken_out_wherever_it_begins(before: bytes, after: bytes, secret: str) -> None:
    assume(secret == secret.strip())
    raw = before + secret.encode() + after
    redactor = knowing(secret)
    assert MARK in redactor.text(base64.b64encode(raw).decode())
    assert MARK in redactor.text(base64.urlsafe_b64encode(raw).decode())


@given(st.text())
def test_a_text_without_a_secret_stays_as_it_is(text: str) -> None:
    assert knowing("nothing-of-the-kind").text(text) == text


def test_values_are_cleaned_in_every_depth_and_in_their_keys() -> None:
    value = knowing("hunter2222").value({"a": ["hunter2222", 1, None], "hunter2222": {"b": "x hunter2222 y"}})
    assert value == {"a": [MARK, 1, None], MARK: {"b": f"x {MARK} y"}}


def test_a_word_too_short_for_a_secret_is_left_alone() -> None:
    assert knowing("key", " ").text("the key is key") == "the key is key"


def test_a_secret_stays_known_when_another_is_learned() -> None:
    redactor = knowing("first-secret")
    redactor.learn("second-secret")
    assert redactor.text("first-secret second-secret") == f"{MARK} {MARK}"


_LETTERS = st.sampled_from(
    ["sk-secret-1", "sk-secret-1-longer", "sk-secret", "sk-", "c2stc2VjcmV0LTE", "secret", "1", " ", "é"]
)


@given(texts=st.lists(_LETTERS, max_size=12), cuts=st.lists(st.integers(0, 100), max_size=12))
def test_a_text_in_pieces_is_cleaned_as_the_whole_of_it_is(texts: list[str], cuts: list[int]) -> None:
    # given a secret that begins as another one does, and a text that has come to a sure end
    redactor = knowing("sk-secret-1", "sk-secret-1-longer")
    whole = "".join(texts) + "."
    places = sorted({0, len(whole), *(cut % (len(whole) + 1) for cut in cuts)})
    # when it comes in any pieces
    stream = redactor.stream()
    shown = [stream.add(whole[begin:end]) for begin, end in pairwise(places)]
    # then what was shown is what would have been stored
    assert "".join(shown) == redactor.text(whole)


@given(st.text(max_size=30), st.lists(st.integers(1, 3), min_size=40, max_size=40))
def test_no_piece_shows_what_begins_a_secret_that_comes_whole(before: str, sizes: list[int]) -> None:
    stream = knowing(SECRET).stream()
    for spelling in (SECRET, quote(SECRET), base64.b64encode(SECRET.encode()).decode(), SECRET.encode().hex()):
        text, shown = f"{before}{spelling}.", ""
        for size in sizes:
            shown += stream.add(text[:size])
            text = text[size:]
        shown += stream.add(text)
        assert "Very" not in shown
        assert shown.endswith(".")
        assert MARK in shown


def test_what_begins_no_secret_is_shown_at_once() -> None:
    stream = knowing("sk-secret-1").stream()
    shown = [stream.add(piece) for piece in ("The task", " sk", "ips", " sk-secret", "-2")]
    assert shown == ["The ta", "sk ", "skip", "s ", "sk-secret-2"]
