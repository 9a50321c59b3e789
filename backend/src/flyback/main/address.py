"""Where the server that holds a data folder is reached: a file in the folder, for its owner alone."""

from __future__ import annotations

import json
import os
from pathlib import Path

from flyback.cli.remote import ServerAddress

_FILE = "server.json"


def write_address(folder: Path, address: ServerAddress) -> None:
    handle = os.open(folder / _FILE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump({"address": address.base_url, "key": address.key}, file)


def read_address(folder: Path) -> ServerAddress | None:
    """Return the address that a server left, which may have died since. None where there is none."""
    try:
        stored = json.loads((folder / _FILE).read_text())
        return ServerAddress(stored["address"], stored["key"])
    except (OSError, ValueError, KeyError):
        return None


def forget_address(folder: Path) -> None:
    (folder / _FILE).unlink(missing_ok=True)
