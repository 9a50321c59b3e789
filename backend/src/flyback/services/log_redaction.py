"""Logs pass the redaction too: whatever is about to be written, a traceback included, has its secrets taken out."""

from __future__ import annotations

import logging

from flyback.domain.redaction import Redactor


class RedactedFormatter(logging.Formatter):
    """Formats as another one does, and takes the secrets out of what came of it."""

    def __init__(self, inner: logging.Formatter, redactor: Redactor) -> None:
        super().__init__()
        self._inner = inner
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.text(self._inner.format(record))


def redact_logs(redactor: Redactor, logger: logging.Logger | None = None) -> None:
    """Make every handler of a logger, the root one by default, write through the redaction."""
    for handler in (logger or logging.getLogger()).handlers:
        inner = handler.formatter or logging.Formatter()
        if not isinstance(inner, RedactedFormatter):
            handler.setFormatter(RedactedFormatter(inner, redactor))
