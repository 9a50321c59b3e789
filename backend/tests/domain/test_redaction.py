"""Redaction: no spelling of a secret that is known stays in what is written."""

from __future__ import annotations

import base64
import json
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
