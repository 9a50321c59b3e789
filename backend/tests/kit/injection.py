"""The corpus of hostile texts: what each says, where it enters a run, and what a model does that believes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

_FOLDER = Path(__file__).parents[1] / "corpus" / "injection"


@dataclass(frozen=True, slots=True)
class HostileText:
    name: str
    enters: str
    """The place: `input`, `node output`, `skill`, `tool description`, `tool answer`, `answer`, `note`, `label`, `planner`
    or `url`."""
    text: str
    route: Sequence[str] = ()
    """The nodes that a planner chooses which obeys it."""
    calls: Sequence[Mapping[str, Any]] = ()
    """The tools that an agent calls which obeys it: `{tool, arguments}`."""

    def __str__(self) -> str:
        return self.name


def hostile_texts(must: str) -> list[HostileText]:
    """Return the texts that all must come to the same: the name of a file of the corpus."""
    listed = cast("list[dict[str, Any]]", json.loads((_FOLDER / f"{must}.json").read_text(encoding="utf-8")))
    return [HostileText(one["name"], one["enters"], one["text"], **one.get("obeyed", {})) for one in listed]
