"""Who starts a run: under which key, and how they want to be told of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request, Response

from flyback.api.deps import All, Caller
from flyback.api.event_stream import stream_events, wants_stream
from flyback.api.json_body import JsonAnswer
from flyback.api.wire.runs import RunAccepted, RunDetail
from flyback.domain.errors import InvalidError
from flyback.domain.json_value import canonical, loads_strict
from flyback.services.acceptance import Accepted
from flyback.services.run_waiting import wait_for_end
from flyback.storage.idempotency import IdempotencyKey

_MAX_KEY = 200
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="Names the run: a repeat within 24 h starts nothing and is told the same run.",
    ),
]
Wait = Annotated[bool, Query(description="Answer at the run's end or at a pause, or after 60 s as without it.")]
STARTED: dict[int | str, dict[str, Any]] = {
    200: {
        "model": RunDetail,
        "description": "With `wait`: the run at its end or at a pause. Or its events, as a stream.",
    },
    202: {"model": RunAccepted},
}


@dataclass(frozen=True, slots=True)
class Starter:
    """Who starts a run, under which key, and how they want to be told of it: at once, by its events, or at its end."""

    request: Request
    caller: Caller
    services: All
    idempotency_key: Key = None
    wait: Wait = False

    async def key(self) -> IdempotencyKey | None:
        """Return the key with what it stands for: the same key for another body is refused. Raises InvalidError."""
        key = self.idempotency_key
        if key is None:
            return None
        if not 0 < len(key) <= _MAX_KEY:
            what = f"An Idempotency-Key has 1 to {_MAX_KEY} characters, this one {len(key)}."
            raise InvalidError(what, field="Idempotency-Key", fix="Send a shorter key, such as a UUID.")
        body = canonical(loads_strict(await self.request.body()))
        return IdempotencyKey(self.request.url.path, key, hashlib.sha256(body.encode()).hexdigest())

    async def told(self, accepted: Accepted) -> Response:
        """Return the answer that the caller wants: 202 at once, the run at its end or at a pause, or its events."""
        location = {"Location": f"/api/runs/{accepted.run_id}"}
        caller, services = self.caller, self.services
        if wants_stream(self.request):
            return await stream_events(self.request, caller, services, accepted.run_id, after=0, headers=location)
        if self.wait:
            detail = await wait_for_end(services.streams, services.run_views, caller, accepted.run_id)
            if detail is not None:
                return JsonAnswer(detail, headers=location)
        return JsonAnswer({"runId": accepted.run_id, "status": accepted.status.value}, 202, headers=location)


Starts = Annotated[Starter, Depends()]
