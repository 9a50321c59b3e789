"""Finding JSON objects in what a model answered.

Models put the object they were asked for into fences and prose, think aloud before it, and break it slightly. An object
that reads exactly is taken as it is; only where that fails and the text still looks like an object, from its brace to its
first value, it is mended. Prose is never made into an object. An object that was cut short keeps its whole members only,
so that half a name is never taken for a name. Thinking that was cut short decides nothing: of what stands in it only a
whole object with which the answer ends counts, for some models never say that they are done thinking.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from flyback.domain.errors import BadJsonError
from flyback.domain.json_value import exact_or_infinite, loads_mended, mend

_THOUGHT = "<think>"
_END_OF_THOUGHT = "</think>"
_LONGEST_OBJECT = 512 * 1024
_LONGEST_MENDED = 48 * 1024
_BUDGET = 128 * 1024
"""Characters that may be read in vain or mended before the rest of an answer is left unread: a bound on hostile text."""
_COST_OF_DEPTH = 8 * 1024

_MAY_BEGIN = re.compile(r"""\{\s*+["'“}\w]""")
_MAY_BE_EXACT = re.compile(r'\{\s*+["}]')

_LOOKS_LIKE_OBJECT = re.compile(
    r"""\{\s*+(?:
        "[^"\n]{0,200}+"\s*+[:：]        # a quoted name
      | '[^'\n]{0,200}+'\s*+[:：]
      | “[^”\n]{0,200}+”\s*+[:：]
      | [^\W\d][\w-]{0,100}+\s*+:\s*+(?:["'“\[{]|-?\d|(?:true|false|null)\b)  # a bare name, and a value that is one
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_TOKEN = re.compile(
    r"""
      "(?:[^"\\]++|\\.)*+(?P<closed>"?)                       # a string, or the rest of the text
    | (?<=[{\[:,\s])'(?:[^'\\]++|\\.|'(?!\s*+[,:}\]]))*+'?    # the same in single quotes, apostrophes inside allowed
    | [{}\[\],]
    """,
    re.VERBOSE | re.DOTALL,
)
_TRAILING_COMMA = re.compile(r"""("(?:[^"\\]++|\\.)*+")|,(?=\s*+[}\]])""", re.DOTALL)
_WIDE_COLON = re.compile(r"""(?<=["'”])\s*+：""")
_FENCE_END = re.compile(r"\n[ \t]*+(?:```|~~~)")
_FENCED = re.compile(r"^[ \t]*+(```|~~~)[^\n`]*+\n(.*?)(?:\n[ \t]*+\1|\Z)", re.DOTALL | re.MULTILINE)
_THOUGHTS_BEFORE = re.compile(r"(?:\s*+<think>.*?</think>)+\s*+", re.DOTALL)
_QUOTES_AND_BLANKS = re.compile(r"""[\s"'`´‘’“”„«»「」『』]+""")
_NOTHING_MORE = re.compile(r"[\s`~]*+\Z")


@dataclass(frozen=True, slots=True)
class FoundObject:
    value: dict[str, JsonValue]
    notes: tuple[str, ...]
    """What had to be mended in its values."""


def objects_in(text: str) -> list[dict[str, JsonValue]]:
    """Return every JSON object in a model's answer after the last `</think>`, in order of appearance.

    An object inside another one is part of that one and is not listed.
    """
    return [found.value for found in find_objects(text)]


def find_objects(text: str) -> list[FoundObject]:
    """Return what `objects_in` returns, each with notes on what was mended in its values."""
    answer = _said(text)
    return list(_scan(answer))


def without_thinking(text: str) -> str:
    """Return a text answer without the thinking that stands before it; it is as given where there is none."""
    thoughts = _THOUGHTS_BEFORE.match(text)
    return text[thoughts.end() :] if thoughts else text


def is_unfinished_thinking(text: str) -> bool:
    """Whether an answer is nothing but thinking that was cut off."""
    return text.lstrip().startswith(_THOUGHT)


def bare_name(name: str) -> str:
    """Return a name that a model was to repeat, without case, quotes and blanks."""
    return _QUOTES_AND_BLANKS.sub("", name).casefold()


def read_value(text: str) -> tuple[JsonValue, list[str]]:
    """Read the one JSON value of an answer, as it is, behind thinking or in a fence, with notes on what was mended.

    Raises:
        BadJsonError: there is none.
    """
    answer = _said(text)
    fenced = (found[2] for found in reversed(list(_FENCED.finditer(answer))))
    fault: BadJsonError | None = None
    for piece in (text, answer, *fenced):
        try:
            return loads_mended(piece.strip())
        except BadJsonError as error:
            fault = fault or error
    assert fault is not None
    raise fault


def _said(text: str) -> str:
    """An answer without the thinking before it."""
    return text.rpartition(_END_OF_THOUGHT)[2]


def _scan(text: str) -> Iterator[FoundObject]:
    thought = text.find(_THOUGHT)
    budget = _BUDGET
    begin = _MAY_BEGIN.search(text)
    while begin is not None and budget > 0:
        start = begin.start()
        read = _read_exactly(text, start)
        budget -= read.cost
        if read.found is None and _LOOKS_LIKE_OBJECT.match(text, start):
            read = _read_mended(text, start)
            budget -= read.cost
        if read.found is not None and (not 0 <= thought < start or _ends_with_it(text, read.end)):
            yield read.found
        begin = _MAY_BEGIN.search(text, read.end)


def _ends_with_it(text: str, end: int) -> bool:
    return text[end - 1] == "}" and _NOTHING_MORE.match(text, end) is not None


@dataclass(frozen=True, slots=True)
class _Read:
    """What came of reading at a brace, and where to go on."""

    found: FoundObject | None
    end: int
    cost: int
    """Characters that were looked at and will be looked at again."""


def _read_exactly(text: str, start: int) -> _Read:
    if not _MAY_BE_EXACT.match(text, start):
        return _Read(None, start + 1, 0)
    twice: list[str] = []

    def last_wins(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
        found = dict(pairs)
        if len(found) != len(pairs):
            twice.append("a key stood twice: the last value was kept")
        return found

    decoder = json.JSONDecoder(strict=False, object_pairs_hook=last_wins, parse_int=exact_or_infinite)
    try:
        value, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return _Read(None, start + 1, error.pos - start)
    except RecursionError:
        return _Read(None, start + 1, _COST_OF_DEPTH)
    return _Read(_found(value, twice), end, 0)


def _read_mended(text: str, start: int) -> _Read:
    piece, end = _object_text(text, start)
    cost = end - start
    # A comma too many is the commonest break, and can be mended at any length.
    exact = _read_exactly(_TRAILING_COMMA.sub(r"\1", piece), 0)
    if exact.found is not None:
        return _Read(exact.found, end, cost)
    if len(piece) > _LONGEST_MENDED:
        return _Read(None, start + 1, cost)
    import json_repair  # loaded where an answer is broken

    try:
        value: object = json_repair.loads(_WIDE_COLON.sub(":", piece), skip_json_loads=True)
    except (ValueError, RecursionError):
        return _Read(None, start + 1, cost)
    if not isinstance(value, dict) or not value:
        return _Read(None, start + 1, cost)
    return _Read(_found(cast("object", value), []), end, cost)


def _object_text(text: str, start: int) -> tuple[str, int]:
    """Return the text of the object that begins at `start`, and where it ends."""
    depth = 0
    last_comma = start
    limit = min(len(text), start + _LONGEST_OBJECT)
    for token in _TOKEN.finditer(text, start, limit):
        mark = token[0]
        if mark in "{[":
            depth += 1
        elif mark in "}]":
            depth -= 1
            if depth == 0:
                return text[start : token.end()], token.end()
        elif mark == ",":
            last_comma = token.start()
        elif token["closed"] == "":
            return text[start:last_comma] if last_comma > start else "", limit
    fence = _FENCE_END.search(text, start, limit)
    end = fence.start() if fence else limit
    piece = text[start:end].rstrip()
    if piece.endswith(('"', "'", "]", "}")):
        return piece, end
    return text[start:last_comma] if start < last_comma < end else "", end


def _found(value: object, twice: list[str]) -> FoundObject:
    mended, notes = mend(value)
    assert isinstance(mended, dict)
    return FoundObject(mended, (*twice, *notes))
