"""The log of a process: lines for people, or, with `FLYBACK_LOG_FORMAT=json`, one JSON object a line for machines.

Whatever is written while a run is driven says which run, node and visit it belongs to.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime

from flyback.domain.errors import InvalidError
from flyback.domain.wire import time_on_wire
from flyback.engine.watch import standing

FORMAT_SETTING = "FLYBACK_LOG_FORMAT"
LEVEL_SETTING = "FLYBACK_LOG_LEVEL"
_LEVELS = ("debug", "info", "warning", "error")


class TextFormatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        place = standing.get()
        if place is None or place.run_id in text:
            return text
        first, *more = text.split("\n", 1)
        return "\n".join([f"{first} [run {place.run_id}]", *more])


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, str | None] = {
            "time": time_on_wire(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (place := standing.get()) is not None:
            line |= {"runId": place.run_id, "nodeId": place.node_id, "visitId": place.visit_id}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps({name: value for name, value in line.items() if value is not None}, ensure_ascii=False)


def begin_log(environment: Mapping[str, str]) -> None:
    """Write the log to stderr as the environment says. Raises InvalidError."""
    kind = _choice(environment, FORMAT_SETTING, ("text", "json"), "text")
    level = _choice(environment, LEVEL_SETTING, _LEVELS, "info")
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if kind == "json" else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler])


def _choice(environment: Mapping[str, str], name: str, choices: tuple[str, ...], default: str) -> str:
    said = environment.get(name, "").strip().lower() or default
    if said not in choices:
        raise InvalidError(f"{name} is {said!r}.", field=name, fix=f"Set one of {', '.join(choices)}.")
    return said
