"""Serves a data folder: API, page and worker in one process, until a signal ends it in order.

On SIGTERM nothing new begins, open streams are cut so that they do not hold the process, running steps get their time, and
every run is handed back. A second signal ends it at once.
"""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import logging
import os
import signal
import socket
import webbrowser
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext
from types import FrameType
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI

from flyback.api.access import Access
from flyback.api.app import create_app, create_watch_app
from flyback.api.server import server_config
from flyback.api.streams import StreamSlots
from flyback.cli.hooks import ServeOptions, WorkOptions
from flyback.dispatch import Dispatcher
from flyback.dispatch.dbos_dispatcher import DbosDispatcher
from flyback.domain.errors import InvalidError
from flyback.engine.parts import Engine
from flyback.main.address import ServerAddress, forget_address, write_address
from flyback.main.housekeeping import keeping_house
from flyback.main.logs import begin_log
from flyback.main.operator import LEASE_SECONDS, SLOTS, STREAMS, STREAMS_PER_CLIENT, kept_runs
from flyback.main.product import Product, ProductOptions, open_product
from flyback.services.log_redaction import redact_logs
from flyback.storage.data_folder import DataFolder, make
from flyback.storage.database import Database
from flyback.storage.hub import Hub
from flyback.storage.ledger import Ledger

_CLI_KEY = "command line"
_COLLECT_AFTER = (1_000, 20, 50)
"""A look through what is youngest after so many new objects, the next after so many of these, and so on."""
_PUBLIC_SCHEMES = {"http": False, "https": True}

_log = logging.getLogger(__name__)


def serve(options: ServeOptions) -> None:
    """Serve until a signal ends it. Raises InvalidError for an address that cannot be used, DataFolderHeldError."""
    begin_log(os.environ)
    asyncio.run(_serve(options))


def work(options: WorkOptions) -> None:
    """Run workflows of a shared database until a signal ends it. Its only door is for those who watch it."""
    begin_log(os.environ)
    asyncio.run(_work(options))


async def _serve(options: ServeOptions) -> None:
    listening = _listen(options.host, options.port)
    host, port = listening.getsockname()[:2]
    with listening:
        opened = _opened(
            ProductOptions(options.data, options.database_url, options.embedded_model), works=options.worker
        )
        async with opened as product, _known_to_commands(options, product, port):
            access = _access(options, port)
            server = _Server(product.hub, create_app(product.services, access=access, streams=_streams()))
            link = f"http://127.0.0.1:{port}/sign-in#secret={await product.services.auth.make_link(product.owner)}"
            print(f"Sign in: {link}", flush=True)  # noqa: T201 -- this line is the way in
            if options.fetch_model:
                product.services.embedded.begin_fetch()
            if options.open_browser:
                webbrowser.open(link)
            _log.info("listening on %s:%d", host, port)
            await server.serve(sockets=[listening])


async def _work(options: WorkOptions) -> None:
    listening = nullcontext() if options.port is None else _listen(options.host, options.port)
    product_options = ProductOptions(options.data, options.database_url, options.embedded_model)
    with listening as door:
        async with _opened(product_options, works=True) as product:
            if door is None:
                _log.info("working")
                await _signal()
            else:
                port = door.getsockname()[1]
                _log.info("working; can be watched on %s:%d", options.host, port)
                watch = create_watch_app(product.services, access=Access.at(port))
                await _Server(product.hub, watch).serve(sockets=[door])


async def _signal() -> None:
    """Wait until one comes that ends the process."""
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await stopped.wait()


@asynccontextmanager
async def _opened(options: ProductOptions, *, works: bool) -> AsyncGenerator[Product]:
    """The product of these options; on SQLite under the data folder's lock."""
    folder = DataFolder.hold(options.data) if options.database_url is None else None
    if folder is None:
        make(options.data)

    def dispatcher(engine: Engine, ledger: Ledger, database: Database) -> Dispatcher:
        return DbosDispatcher(
            engine,
            ledger,
            database,
            works=works,
            slots=SLOTS.read(os.environ),
            lease_seconds=LEASE_SECONDS.read(os.environ),
        )

    try:
        async with open_product(options, dispatcher) as product:
            redact_logs(product.redactor)
            _calm_collector()
            async with keeping_house(product.tidying, kept_runs(os.environ), product.journal):
                yield product
    finally:
        if folder is not None:
            folder.release()


def _calm_collector() -> None:
    """Look for garbage among what is young as ever, through everything seldom, and never through the program itself.

    Each look through everything stops all runs and calls: for a tenth of a second with nothing open, three with a
    thousand streams, and with the interpreter's own settings once a second while many runs come and go.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)


@asynccontextmanager
async def _known_to_commands(options: ServeOptions, product: Product, port: int) -> AsyncGenerator[None]:
    """Leave the server's address and a key in the data folder, for commands that find it held."""
    auth = product.services.auth
    for old in await auth.keys(product.owner):
        if old.name == _CLI_KEY:
            await auth.revoke_key(product.owner, old.id)
    made = await auth.make_key(product.owner, name=_CLI_KEY)
    write_address(options.data, ServerAddress(f"http://127.0.0.1:{port}", made.key))
    try:
        yield
    finally:
        forget_address(options.data)


class _Server(uvicorn.Server):
    """Cuts the event streams as soon as a signal comes: the server waits for open answers before it ends."""

    def __init__(self, hub: Hub, app: FastAPI) -> None:
        super().__init__(server_config(app))
        self._hub = hub

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 -- uvicorn hands them in
        # Not as it stands there: a signal that it has noted is raised again when it ends, and would end the process
        # before the runs are handed back.
        self.force_exit = self.should_exit
        self.should_exit = True
        self._hub.close()


def _access(options: ServeOptions, port: int) -> Access:
    """By which names the server may be called: loopback, the address it listens on, and the one people know it by."""
    own = () if _is_loopback(options.host) else (options.host,)
    if options.public_url is None:
        return Access.at(port, names=own)
    url = urlsplit(options.public_url)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise InvalidError(
            f"{options.public_url!r} is no address of a page.",
            field="public-url",
            fix="Write https://flows.example.org.",
        )
    default = 443 if url.scheme == "https" else 80
    return Access.at(port, names=(*own, f"{url.hostname}:{url.port or default}"), secure=url.scheme == "https")


def _streams() -> StreamSlots:
    return StreamSlots(per_client=STREAMS_PER_CLIENT.read(os.environ), in_all=STREAMS.read(os.environ))


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise InvalidError(
            f"Port {port} of {host} cannot be listened on: {error.strerror}.",
            field="port",
            fix="Stop whoever uses it, or choose another with --port (0 takes a free one).",
        ) from error


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
