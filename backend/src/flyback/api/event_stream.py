"""A run's events as server-sent events: durable ones carry their number, live text does not.

Each event's data is one line of JSON, so that no text in it can become another event. The stream begins at `Last-Event-ID`
or `?after=`; where both come the header wins, and a header that cannot be used gives the full replay. A position that the
run has not reached is some other run's: waiting for it would be silence.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any, cast

from fastapi import Request
from sse_starlette import EventSourceResponse

from flyback.api.streams import StreamSlots
from flyback.domain.errors import BadPositionError
from flyback.domain.events import LiveText, StoredEvent
from flyback.domain.json_value import dumps
from flyback.domain.run import RunId
from flyback.domain.wire import time_on_wire
from flyback.services.actor import Actor
from flyback.services.container import Services

_KEEP_ALIVE_SECONDS = 15
_RETRY_MS = 2_000
_MAX_DIGITS = 18
STREAM_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"text/event-stream": {"schema": {"description": "The `data` line of each event is a RunEvent."}}},
        "description": "The run's events.",
    }
}


def wants_stream(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "").lower()


def position(request: Request, after: str | None, *, last: int) -> int:
    """Return the number behind which a reader goes on, where the run's newest event is `last`.

    Raises:
        BadPositionError: `after` is no number, or one that the run has not reached.
    """
    if (header := request.headers.get("last-event-id")) is not None:
        return _number(header, last) or 0
    if after is None:
        return 0
    number = _number(after, last)
    if number is None:
        raise BadPositionError(
            f"{after[:40]!r} is no position in a run's events.",
            field="after",
            fix="Send the `seq` of the last event seen.",
        )
    return number


def _number(text: str, last: int) -> int | None:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None
    return number if number is not None and number <= last else None


async def stream_events(
    request: Request,
    caller: Actor,
    services: Services,
    run_id: RunId,
    *,
    after: int,
    headers: Mapping[str, str] | None = None,
) -> EventSourceResponse:
    """Answer with a run's events. Raises TooManyError before the answer has begun."""
    slots = cast("StreamSlots", request.app.state.streams)
    slots.check(caller.credential_id)
    return EventSourceResponse(
        _chunks(services, slots, caller.credential_id, run_id, after),
        ping=_KEEP_ALIVE_SECONDS,
        sep="\n",
        headers={"Cache-Control": "no-store, no-transform", **(headers or {})},
    )


async def _chunks(
    services: Services, slots: StreamSlots, client: str, run_id: RunId, after: int
) -> AsyncIterator[bytes]:
    with slots.hold(client):
        yield f"retry: {_RETRY_MS}\n\n".encode()
        async with aclosing(services.streams.follow(run_id, after=after)) as stream:
            async for batch in stream:
                if isinstance(batch, LiveText):
                    yield live_text(batch).encode()
                elif batch:
                    yield durable(batch).encode()


def durable(batch: Iterable[StoredEvent]) -> str:
    """Return events as they stand in the stream."""
    return "".join(
        f"id: {event.seq}\nevent: {event.type}\n"
        f'data: {{"runId":"{event.run_id}","type":"{event.type}","seq":{event.seq},'
        f'"timestamp":"{event.timestamp}","data":{event.data_json}}}\n\n'
        for event in batch
    )


def live_text(text: LiveText) -> str:
    kind = "text_snapshot" if text.whole else "text_delta"
    data: dict[str, object] = {"source": text.source, "nodeId": text.node_id}
    if text.visit_id is not None:
        data["visitId"] = text.visit_id
    data |= {"attempt": text.attempt, "text": text.text}
    whole = {"runId": text.run_id, "type": kind, "timestamp": time_on_wire(datetime.now(UTC)), "data": data}
    return f"event: {kind}\ndata: {dumps(whole)}\n\n"
