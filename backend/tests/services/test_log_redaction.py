"""Logs without secrets."""

from __future__ import annotations

import io
import logging

from flyback.domain.redaction import Redactor
from flyback.services.log_redaction import redact_logs


def test_a_secret_in_a_message_its_arguments_or_a_traceback_is_not_logged() -> None:
    # given a logger whose handlers write through the redaction
    written = io.StringIO()
    logger = logging.Logger("test")
    logger.addHandler(logging.StreamHandler(written))
    redactor = Redactor()
    redact_logs(redactor, logger)
    redact_logs(redactor, logger)
    redactor.learn("sk-0123456789")
    # when something is logged that holds a secret
    try:
        raise ValueError("bad key sk-0123456789")
    except ValueError:
        logger.exception("calling with %s", "sk-0123456789")
    # then none of it is written
    assert "sk-0123456789" not in written.getvalue()
    assert "calling with [secret]" in written.getvalue()
    assert "ValueError: bad key [secret]" in written.getvalue()
