"""The planner's reason as it forms: the value of `reason`, decoded, out of an answer that is still being written.

People see neither JSON nor thinking. What counts in the end is the last object of the answer, so a reason that begins
after another one takes its place, and so does nothing when a thought ends.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from flyback.engine.agentic.answer import REASON_CHARACTERS
from flyback.engine.live_text import Instead

_THOUGHT = "<think>"
_END_OF_THOUGHT = "</think>"
_OBJECT_OR_THOUGHT = re.compile(r"\{|<think>")
_MEMBER = re.compile(r'\s*+"([^"\\]*+)"\s*+:\s*+(?:"([^"\\]*+)"|[-\w.+]++)\s*+(?:,|(?=\}))')
"""A whole member whose value is plain, and what ends it: most answers are made of nothing else."""
_PLAIN = re.compile(r"""[^\s"'{}\[\]:,]+""")
_BLANKS = re.compile(r"\s+")
_END_OR_ESCAPE = {'"': re.compile(r'["\\]'), "'": re.compile(r"['\\]")}
_UNICODE = re.compile(r"u[0-9a-fA-F]{4}")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class _In(Enum):
    PROSE = auto()
    THOUGHT = auto()
    OBJECT = auto()
    STRING = auto()


class ReasonStream:
    """Called with each piece of the answer; returns what it adds to the reason, or what stands instead of it."""

    def __init__(self) -> None:
        self.text = ""
        """The reason so far."""
        self._rest = ""
        self._tail = ""
        self._in = _In.PROSE
        self._depth = 0
        self._expects_key = True
        self._key = ""
        self._quote = ""
        self._keeps_key = False
        self._is_reason = False
        self._high_surrogate = ""
        self._begins_anew = False

    def __call__(self, piece: str) -> str | Instead:
        before = self.text
        if _END_OF_THOUGHT in self._tail + piece:
            piece = (self._tail + piece).rpartition(_END_OF_THOUGHT)[2]
            self._tail = self._rest = ""
            self._start_over()
        self._tail = (self._tail + piece)[1 - len(_END_OF_THOUGHT) :]
        self._rest += piece
        while self._rest and self._step():
            pass
        if self._begins_anew:
            self._begins_anew = False
            return Instead(self.text) if before else self.text
        return self.text[len(before) :]

    def _start_over(self) -> None:
        self._in = _In.PROSE
        self._begin_reason()

    def _begin_reason(self) -> None:
        self._begins_anew = True
        self.text = ""
        self._high_surrogate = ""

    def _step(self) -> bool:
        """Consume something of the rest; False where more text is needed first."""
        match self._in:
            case _In.PROSE:
                return self._prose()
            case _In.THOUGHT:
                self._rest = ""
                return False
            case _In.OBJECT:
                return self._object()
            case _In.STRING:
                return self._string()

    def _prose(self) -> bool:
        found = _OBJECT_OR_THOUGHT.search(self._rest)
        if found is None:
            self._rest = self._rest[1 - len(_THOUGHT) :]
            return False
        self._rest = self._rest[found.end() :]
        if found[0] == _THOUGHT:
            self._in = _In.THOUGHT
        else:
            self._in, self._depth, self._expects_key, self._key = _In.OBJECT, 1, True, ""
        return True

    def _object(self) -> bool:
        if self._depth == 1 and self._expects_key and (member := _MEMBER.match(self._rest)):
            self._rest = self._rest[member.end() :]
            if member[1] == "reason" and member[2] is not None:
                self._begin_reason()
                self.text = member[2][:REASON_CHARACTERS]
            return True
        mark = self._rest[0]
        if mark.isspace():
            self._rest = _BLANKS.sub("", self._rest, count=1)
            return True
        if mark in "\"'":
            self._open_string(mark)
        elif mark in "{[":
            self._depth += 1
        elif mark in "}]":
            self._depth -= 1
            if self._depth == 0:
                self._in = _In.PROSE
        elif mark == ":":
            self._expects_key = self._expects_key and self._depth > 1
        elif mark == ",":
            self._expects_key = self._expects_key or self._depth == 1
        else:
            return self._plain()
        self._rest = self._rest[1:]
        return True

    def _plain(self) -> bool:
        """A number, a word; where a key must stand, what looked like an object was prose."""
        if self._depth == 1 and self._expects_key:
            self._in = _In.PROSE
            return True
        self._rest = _PLAIN.sub("", self._rest, count=1)
        return True

    def _open_string(self, quote: str) -> None:
        self._in, self._quote = _In.STRING, quote
        outer = self._depth == 1
        self._keeps_key = outer and self._expects_key
        self._is_reason = outer and not self._expects_key and self._key == "reason"
        if self._keeps_key:
            self._key = ""
        if self._is_reason:
            self._begin_reason()

    def _string(self) -> bool:
        found = _END_OR_ESCAPE[self._quote].search(self._rest)
        if found is None:
            self._keep(self._rest)
            self._rest = ""
            return False
        self._keep(self._rest[: found.start()])
        self._rest = self._rest[found.start() :]
        if found[0] == "\\":
            return self._escape()
        self._rest = self._rest[1:]
        self._flush_surrogate()
        self._in = _In.OBJECT
        return True

    def _escape(self) -> bool:
        if len(self._rest) < 2:
            return False
        letter = self._rest[1]
        if letter != "u":
            self._keep(_ESCAPES.get(letter, letter))
            self._rest = self._rest[2:]
            return True
        if len(self._rest) < 6:
            return False
        if _UNICODE.match(self._rest, 1):
            self._keep_code_unit(int(self._rest[2:6], 16))
            self._rest = self._rest[6:]
        else:
            self._rest = self._rest[2:]
        return True

    def _keep_code_unit(self, unit: int) -> None:
        if 0xD800 <= unit < 0xDC00:
            self._flush_surrogate()
            self._high_surrogate = chr(unit)
        elif 0xDC00 <= unit < 0xE000:
            high, self._high_surrogate = self._high_surrogate, ""
            pair = (
                (high + chr(unit)).encode("utf-16", "surrogatepass").decode("utf-16", "replace") if high else "\ufffd"
            )
            self._keep(pair)
        else:
            self._keep("\ufffd" if unit == 0 else chr(unit))

    def _flush_surrogate(self) -> None:
        if self._high_surrogate:
            self._high_surrogate = ""
            self._keep("\ufffd")

    def _keep(self, text: str) -> None:
        if not text:
            return
        self._flush_surrogate()
        if self._keeps_key:
            self._key += text
        elif self._is_reason:
            self.text = (self.text + text)[:REASON_CHARACTERS]
