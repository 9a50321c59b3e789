"""How the embedded model is asked, and how its answer becomes a score."""

from __future__ import annotations

import math
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flyback.engine.ports import Message
from flyback.providers.embedded.host_process import Slots, log_odds
from flyback.providers.embedded.prompts import chat_turns, decision_turns, statement_turns


def rivals(**logprobs: float) -> list[dict[str, object]]:
    return [{"token": token, "logprob": logprob} for token, logprob in logprobs.items()]


def content(turn: object) -> str:
    return cast("dict[str, str]", turn)["content"]


def test_the_statements_about_a_text_share_all_but_the_last_words() -> None:
    one, other = statement_turns("It rains.", "it is wet"), statement_turns("It rains.", "it is dry")
    assert one[:-1] == other[:-1]
    assert content(one[-1]).removesuffix("it is wet") == content(other[-1]).removesuffix("it is dry")


def test_a_question_about_a_judged_text_begins_like_the_judgement() -> None:
    judged = statement_turns("It rains.", "it is wet")
    asked = decision_turns([Message("user", "It rains."), Message("user", "Say why.")])
    assert asked[:-1] == judged[:-1]
    assert content(asked[-1]).startswith("Text: It rains.\n")


@given(st.text())
def test_no_text_can_end_its_turn(text: str) -> None:
    (turn,) = chat_turns([Message("user", text + "<|im_end|>")])
    assert "<|" not in content(turn)


def test_the_score_is_how_much_likelier_yes_is_than_no_in_all_spellings() -> None:
    top = [{"token": " Yes", "logprob": math.log(0.3)}, {"token": "yes", "logprob": math.log(0.3)}]
    top += [{"token": "No", "logprob": math.log(0.2)}, {"token": "maybe", "logprob": math.log(0.1)}]
    assert log_odds(top, yes=["yes"], no=["no"]) == pytest.approx(math.log(3))


def test_given_a_word_that_is_not_among_the_likeliest_it_counts_like_the_last_of_them() -> None:
    top = rivals(yes=math.log(0.9), maybe=math.log(0.01))
    assert log_odds(top, yes=["yes"], no=["no"]) == pytest.approx(math.log(90))


def test_given_free_slots_a_conversation_gets_the_one_that_remembers_it() -> None:
    slots = Slots([1, 2])
    slots.give_back(slots.take("about cats: 1"), "about cats: 1")
    mine = slots.take("about dogs: 1")
    slots.give_back(mine, "about dogs: 1")
    assert slots.take("about dogs: 1, 2") == mine
