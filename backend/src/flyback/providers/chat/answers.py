"""What a provider's answer says outside its protocol: messages of refusals, when to come back, answers in one piece."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import cast

from pydantic import JsonValue

_LONGEST_SECONDS = 86_400.0


def message_in(body: str) -> str:
    """Return a refusal's own words: the message inside its JSON, else the text as it is."""
    try:
        value = cast("JsonValue", json.loads(body))
    except (ValueError, RecursionError):
        return body
    return _message(value) or body


def _message(value: JsonValue) -> str | None:
    match value:
        case [first, *_]:
            return _message(first)
        case {"error": {"message": str(message)}} | {"error": str(message)} | {"message": str(message)}:
            return message
        case {"detail": str(message)} | {"error": {"detail": str(message)}}:
            return message
        case _:
            return None


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return how long the other side asks to wait: a number of seconds or a date, at most a day."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return min(milliseconds / 1000, _LONGEST_SECONDS)
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is None and text:
        seconds = _until(text, now)
    return None if seconds is None else min(seconds, _LONGEST_SECONDS)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None


def _until(text: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def as_stream(whole: bytes) -> bytes | str | None:
    """Return a chat completion that came in one piece as the event stream it was asked to be.

    A `str` is the message of an error that came in its place; None is something else.
    """
    try:
        answer = cast("JsonValue", json.loads(whole))
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, dict):
        return None
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        return _message(answer)
    chunk = {**answer, "object": "chat.completion.chunk", "choices": [_as_delta(choice) for choice in choices]}
    return b"data: " + json.dumps(chunk).encode("ascii") + b"\n\ndata: [DONE]\n\n"


def _as_delta(choice: JsonValue) -> JsonValue:
    if not isinstance(choice, dict):
        return choice
    rest = {key: value for key, value in choice.items() if key != "message"}
    return {"index": 0, "finish_reason": "stop", **rest, "delta": choice.get("message") or {}}
