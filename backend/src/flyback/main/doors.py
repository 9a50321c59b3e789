"""Opens a data folder for a command: through the server that holds it, else here.

Reading needs no lock. Driving on SQLite does: it proves that nobody else drives a run of the folder.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from flyback.cli.doors import DataDoor, RunDoor
from flyback.cli.local import LocalDoor
from flyback.cli.remote import RemoteDoor
from flyback.dispatch import Dispatcher
from flyback.dispatch.heart import Heart
from flyback.dispatch.local import LocalDispatcher
from flyback.domain.errors import DataFolderHeldError
from flyback.engine.parts import Engine
from flyback.main.address import read_address
from flyback.main.operator import LEASE_SECONDS
from flyback.main.product import ProductOptions, open_product
from flyback.storage.data_folder import DataFolder, make
from flyback.storage.database import Database
from flyback.storage.ledger import Ledger

_DEFAULT_ADDRESS = "http://127.0.0.1:8321"


@asynccontextmanager
async def open_runs(options: ProductOptions) -> AsyncGenerator[RunDoor]:
    """Raises DataFolderHeldError: somebody who is no server holds the folder."""
    if options.database_url is not None:
        async with open_data(options) as door:
            yield door
        return
    try:
        folder = DataFolder.hold(options.data)
    except DataFolderHeldError:
        address = read_address(options.data)
        if address is None:
            raise
        async with RemoteDoor.client(address) as client:
            yield RemoteDoor(client)
        return
    try:
        async with open_data(options) as door:
            yield door
    finally:
        folder.release()


@asynccontextmanager
async def open_data(options: ProductOptions) -> AsyncGenerator[DataDoor]:
    make(options.data)
    server = read_address(options.data)
    async with open_product(options, _dispatcher) as product:
        base_url = server.base_url if server is not None else _DEFAULT_ADDRESS
        yield LocalDoor(product.services, product.owner, base_url=base_url)


def _dispatcher(engine: Engine, ledger: Ledger, database: Database) -> Dispatcher:
    lease_seconds = LEASE_SECONDS.read(os.environ)
    heart = None if database.is_sqlite else Heart(ledger, judges=False, lease_seconds=lease_seconds)
    return LocalDispatcher(engine, ledger, heart=heart)
