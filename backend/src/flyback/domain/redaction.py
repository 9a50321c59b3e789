"""The one redaction: text that is about to be written anywhere has its secrets taken out.

It knows the secret values themselves, also as they look inside an URL, in JSON and in base64, where the neighbours of a
secret shift its letters. Whoever makes or reads a secret teaches it the value. A JSON text stays one. A text that comes in
pieces is cleaned as the whole of it would be.
"""

from __future__ import annotations

import base64
import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from urllib.parse import quote, quote_plus

from pydantic import JsonValue

MARK = "[secret]"
_SHORTEST = 8
"""A shorter value stands in too many innocent words, and is no secret either."""


class Redactor:
    """Takes the secrets it knows out of texts and JSON values."""

    def __init__(self) -> None:
        self._spellings: set[str] = set()
        self._sorted: list[str] = []
        self._first_letters: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None

    def learn(self, *secrets: str) -> None:
        """Know these values from now on. They are not forgotten: what was a key stays out of the logs."""
        known = len(self._spellings)
        for secret in secrets:
            if len(secret.strip()) >= _SHORTEST:
                self._spellings.update(_spellings(secret.strip()))
        if len(self._spellings) > known:
            longest_first = sorted(self._spellings, key=len, reverse=True)
            self._pattern = re.compile("|".join(re.escape(spelling) for spelling in longest_first))
            self._sorted = sorted(self._spellings)
            self._first_letters = frozenset(spelling[0] for spelling in self._spellings)

    @property
    def knows_any(self) -> bool:
        return self._pattern is not None

    def text(self, text: str) -> str:
        """Return the text with every known secret replaced by `[secret]`."""
        return text if self._pattern is None else self._pattern.sub(MARK, text)

    def value(self, value: JsonValue) -> JsonValue:
        """Return the JSON value with every known secret replaced, in its keys too."""
        if self._pattern is None:
            return value
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.value(item) for item in value]
            case dict():
                return self.values(value)
            case _:
                return value

    def values(self, values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return named values with every known secret replaced, in the names too."""
        return {self.text(name): self.value(value) for name, value in values.items()}

    def stream(self) -> Redacted:
        """Return what cleans one text that comes in pieces."""
        return Redacted(self)

    def clean_beginning(self, text: str) -> tuple[str, str]:
        """Return the beginning of a text, cleaned, and the rest: what may be a secret's beginning, as it stands."""
        if self._pattern is None:
            return text, ""
        cleaned: list[str] = []
        done, sure = 0, self._sure_until(text, 0)
        for found in self._pattern.finditer(text):
            if found.start() >= sure:
                break
            cleaned += (text[done : found.start()], MARK)
            done = found.end()
            if done > sure:
                sure = self._sure_until(text, done)
        return "".join((*cleaned, text[done:sure])), text[sure:]

    def _sure_until(self, text: str, begin: int) -> int:
        """Return where the longest end of a text begins that more text could make a secret of."""
        for place in range(max(begin, len(text) - max(map(len, self._sorted)) + 1), len(text)):
            if text[place] in self._first_letters:
                after = bisect_right(self._sorted, end := text[place:])
                if after < len(self._sorted) and self._sorted[after].startswith(end):
                    return place
        return len(text)


class Redacted:
    """One text that comes in pieces, cleaned on the way."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""

    def add(self, piece: str) -> str:
        """Return what can be shown by now. What more text could make a secret of is held back, shorter than the longest one."""
        shown, self._held = self._redactor.clean_beginning(self._held + piece)
        return shown


def _spellings(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    for quoted in (quote(secret, safe=""), quote(secret), quote_plus(secret)):
        yield quoted
        yield re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), quoted)
    raw = secret.encode("utf-8", "surrogatepass")
    yield raw.hex()
    for spelling in _in_base64(raw):
        if len(spelling) >= _SHORTEST:
            yield spelling
            yield spelling.replace("+", "-").replace("/", "_")


def _in_base64(raw: bytes) -> Iterator[str]:
    """The letters that a secret surely has in base64, for each of the three places it may begin at."""
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + raw).decode("ascii")
        first = -(-before * 8 // 6)
        last = (before + len(raw)) * 8 // 6
        yield encoded[first:last]
