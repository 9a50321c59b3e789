"""Which visit of a run a person means: its number, `label#iter` or `node#iter`, or the beginning of its id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flyback.cli.doors import WireObject
from flyback.domain.errors import InvalidError, NotFoundError

_MOST_NAMED = 60


def pick_visit(detail: WireObject, wanted: str | None) -> str:
    """Return a visit's id.

    Raises:
        InvalidError: the run has no visits, none was named, or several are meant.
        NotFoundError: there is none.
    """
    visits: Sequence[WireObject] = detail.get("visits", ())
    if not visits:
        raise InvalidError("The run has no visits.", fix="Only runs in AGENTIC mode have, once they began.")
    fix = f"Say which with --visit: {', '.join(_name(visit) for visit in visits[:_MOST_NAMED])}."
    if wanted is None:
        raise InvalidError("From which visit?", field="visit", fix=fix)
    found = [visit["visitId"] for visit in visits if _is_meant(visit, wanted)]
    if not found:
        raise NotFoundError(f"The run has no visit {wanted!r}.", field="visit", fix=fix)
    if len(found) > 1:
        raise InvalidError(f"{len(found)} visits are called {wanted!r}.", field="visit", fix=fix)
    return found[0]


def _is_meant(visit: WireObject, wanted: str) -> bool:
    if wanted.isdecimal() and len(wanted) < 4:
        return visit["sortOrder"] + 1 == int(wanted)
    called = {f"{visit['nodeLabel']}#{visit['iterSeq']}", f"{visit['nodeId']}#{visit['iterSeq']}"}
    return wanted in called or ("#" not in wanted and visit["visitId"].startswith(wanted))


def _name(visit: WireObject) -> str:
    label: Any = visit["nodeLabel"]
    return f"{visit['sortOrder'] + 1} ({label}#{visit['iterSeq']})"
