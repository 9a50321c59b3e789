"""The least that a Starlette server can be that streams events: what a client asks for is in a file already.

`python -m bench.bare_stream FILE PORT` sends the events of FILE, one after another, to whoever asks.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route


def _app(events: list[bytes]) -> Starlette:
    async def chunks() -> AsyncIterator[bytes]:
        for event in events:
            yield event

    async def stream(_: Request) -> StreamingResponse:
        return StreamingResponse(chunks(), media_type="text/event-stream")

    return Starlette(routes=[Route("/{path:path}", stream)])


if __name__ == "__main__":
    held = [event + b"\n\n" for event in Path(sys.argv[1]).read_bytes().split(b"\n\n") if event]
    uvicorn.run(_app(held), host="127.0.0.1", port=int(sys.argv[2]), log_level="error", backlog=2048)
