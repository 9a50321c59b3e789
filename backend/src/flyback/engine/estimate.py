"""What a call used where nobody told: four bytes a token, marked as estimated."""

from __future__ import annotations

from collections.abc import Sequence

from flyback.domain.run import Usage
from flyback.engine.ports import Message

_BYTES_A_TOKEN = 4


def estimate(messages: Sequence[Message], answer: str) -> Usage:
    """Estimate what an answered call used."""
    sent = sum(_size(message.text) for message in messages)
    return Usage(input_tokens=_tokens(sent), output_tokens=_tokens(_size(answer)), calls=1, estimated=True)


def estimate_partial(messages: Sequence[Message], partial: str) -> Usage:
    """Estimate what a call used that broke off: nothing where it brought no text."""
    return estimate(messages, partial) if partial else Usage(calls=1)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _tokens(size_bytes: int) -> int:
    return -(-size_bytes // _BYTES_A_TOKEN)
