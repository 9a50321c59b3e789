"""The product behind a real server, in a thread of its own: for tests that speak HTTP without an event loop."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from flyback.api.access import Access
from flyback.api.app import create_app
from flyback.api.server import server_config
from kit.door import open_door


@dataclass(frozen=True, slots=True)
class Served:
    base_url: str
    key: str


@contextmanager
def serve(folder: Path, *, kind: str = "sqlite") -> Generator[Served]:
    """Serve a fresh product, on a database of this kind, until the block ends."""
    ready: list[Served] = []
    is_up = threading.Event()
    servers: list[uvicorn.Server] = []

    async def main() -> None:
        async with open_door(folder, kind=kind) as door:
            listening = socket.create_server(("127.0.0.1", 0))
            port = int(listening.getsockname()[1])
            made = await door.services.auth.make_key(door.owner, name="served")
            app = create_app(door.services, access=Access.at(port), page=folder / "no-page")
            servers.append(uvicorn.Server(server_config(app)))
            ready.append(Served(f"http://127.0.0.1:{port}", made.key))
            is_up.set()
            await servers[0].serve(sockets=[listening])

    thread = threading.Thread(target=lambda: asyncio.run(main()), name="served")
    thread.start()
    try:
        assert is_up.wait(60)
        yield ready[0]
    finally:
        for server in servers:
            server.should_exit = True
        thread.join(60)
