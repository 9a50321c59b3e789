"""What a model's failure means: which of the engine's errors it is, and what a person can do about it.

Faults that can pass (silence, 429, 5xx, a broken stream) are transient and tried again by the engine; what the provider
refuses is not, for asking again does not help.
"""

from __future__ import annotations

import re

from flyback.domain.errors import (
    ModelContextError,
    ModelRefusedError,
    ModelTimeoutError,
    ModelUnavailableError,
    NodeError,
)

_DETAIL_CHARACTERS = 500
_CONTEXT = re.compile(
    r"context[_ ](length|window|size)|maximum context|prompt is too long|too many tokens|input is too long"
    r"|exceeds? the (maximum|available) (number of tokens|context)|token count .* exceeds",
    re.IGNORECASE,
)


def fault_of_status(
    model: str, status: int, detail: str = "", *, retry_after_seconds: float | None = None
) -> NodeError:
    """Return the error for a provider's answer with a failing status. `detail` is the provider's own words, redacted."""
    said = f": {cut(detail)}" if detail.strip() else "."
    if status == 429:
        message = f"Model {model!r}: the provider asks to wait (429){said}"
        return unavailable(message, fix="Wait, or raise the limit at the provider.", after=retry_after_seconds)
    if status == 408:
        return timed_out(model, f"the provider gave up waiting (408){said}")
    if status >= 500:
        message = f"Model {model!r}: the provider failed ({status}){said}"
        return unavailable(
            message, fix="Look at the provider's status, or add a fallback model.", after=retry_after_seconds
        )
    if status == 413 or (status in (400, 422) and _CONTEXT.search(detail)):
        fix = "Send less text, or choose a model with a larger context window."
        return ModelContextError(f"Model {model!r}: the prompt does not fit its context ({status}){said}", fix=fix)
    return ModelRefusedError(f"Model {model!r}: the provider refused the call ({status}){said}", fix=_remedy(status))


def _remedy(status: int) -> str:
    if status in (401, 403):
        return "Check the API key of the model entry and what it is allowed to use."
    if status == 404:
        return "Check the base URL and the model's name in the model entry."
    if 300 <= status < 400:
        return "Enter the address it points to as the base URL: a key does not follow a redirect."
    return "Check the model entry and the node's settings against the provider's message."


def unavailable(message: str, *, fix: str, after: float | None = None) -> ModelUnavailableError:
    error = ModelUnavailableError(message, fix=fix)
    error.retry_after_seconds = after
    return error


def timed_out(model: str, what: str) -> ModelTimeoutError:
    fix = "Check the provider's status, or raise the limit in the settings."
    return ModelTimeoutError(f"Model {model!r}: {what}", fix=fix)


def cut(text: str) -> str:
    """Return a provider's words on one line, at most 500 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _DETAIL_CHARACTERS else line[: _DETAIL_CHARACTERS - 1] + "…"
