"""What an agent asks the person with `clarify`, and what it is told of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from flyback.domain.pause import Question
from flyback.engine.ports import ToolCall

MOST_QUESTIONS = 5

_UNANSWERED = "(The person did not answer. Go on with what you know.)"
_UNANSWERED_CHINESE = "（用户没有回答，请根据已知信息继续。）"


class ClarifyRefusedError(Exception):
    """The questions cannot be put to a person; the message tells the model why."""


def questions_of(calls: Sequence[ToolCall]) -> list[Question]:
    """Return what these calls ask, all together. Raises ClarifyRefusedError."""
    asked = [one for call in calls for one in _asked_by(call)]
    if not 1 <= len(asked) <= MOST_QUESTIONS:
        raise ClarifyRefusedError(f"ask one to {MOST_QUESTIONS} questions at a time, not {len(asked)}")
    return [Question(_id(place), text, choices, multi) for place, (text, choices, multi) in enumerate(asked, 1)]


def answers_by_call(
    calls: Sequence[ToolCall], said: Mapping[str, str], *, chinese: bool
) -> Iterator[tuple[ToolCall, str]]:
    """Yield each call with what it is told: one question's answer as it was given, several each under its question."""
    nothing = _UNANSWERED_CHINESE if chinese else _UNANSWERED
    place = 0
    for call in calls:
        told: list[tuple[str, str]] = []
        for text, _, _ in _asked_by(call):
            place += 1
            told.append((text, said.get(_id(place), nothing)))
        yield call, told[0][1] if len(told) == 1 else "\n".join(f"{text}: {answer}" for text, answer in told)


def _id(place: int) -> str:
    return f"q{place}"


def _asked_by(call: ToolCall) -> list[tuple[str, tuple[str, ...], bool]]:
    listed = call.arguments.get("questions")
    if isinstance(listed, list):
        return [_read(item) for item in listed]
    return [_read(dict(call.arguments))]


def _read(item: JsonValue) -> tuple[str, tuple[str, ...], bool]:
    given: Mapping[str, JsonValue] = (
        {"question": item} if isinstance(item, str) else item if isinstance(item, dict) else {}
    )
    text = given.get("question")
    if not isinstance(text, str) or not text.strip():
        raise ClarifyRefusedError("a question needs its text, under 'question'")
    choices = given.get("choices")
    texts = tuple(str(choice) for choice in choices) if isinstance(choices, list) else ()
    return text.strip(), texts, given.get("multi") is True
