"""What a tool said of itself when it was accepted, as a hash: a tool that later says something else is another tool.

Models do what descriptions tell them, so that a server which changes one after it was looked at can have them do anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from flyback.domain.json_value import canonical
from flyback.providers.mcp.servers import Pins

Said = Mapping[str, JsonValue]
"""All that a tool says of itself: its name, title, description, schemas, annotations."""


def pins_of(tools: Sequence[Said]) -> Pins:
    return {str(tool["name"]): _hash(dict(tool)) for tool in tools}


def hash_of(pins: Pins) -> str:
    """One hash for all tools of a server."""
    return _hash(dict(pins))


def _hash(value: dict[str, JsonValue] | dict[str, str]) -> str:
    return hashlib.sha256(canonical(value).encode("utf-8", "surrogatepass")).hexdigest()
