"""Filling in a text from the workspace.

A reference is `{{ head (.name | [n])* ?opt }}`: names are letters of any script, digits, `_`, `-` and single blanks
between them. What has not this form is text and stays: JSON, CSS, Jinja, `{{.Field}}`, `{{ }}`. Filling in is one pass, so
that braces inside a value are never read again; there are no attributes, calls or expressions.

What a name stands for, first hit wins: (1) the exact workspace key; (2) `nodeId.name` or `nodeId__name`, where `text` is
also the main value of a node without an output of that name, then the same with a label that exactly one node carries;
(3) the bare name as most recently written by any node; (4) the same for a shorter beginning of the reference, the longest
first, and the rest as a path: `.name` is a key of an object as it stands, `[n]` a position in a list from 0.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pydantic import JsonValue

from flyback.domain.envelope import Envelope
from flyback.domain.graph import Graph, NodeId
from flyback.domain.json_value import dumps
from flyback.domain.value import value_type
from flyback.domain.workspace import SEPARATOR, Workspace

MAX_RESULT_BYTES = 5 * 1024 * 1024
VISIT_NAMES = ("reason", "iterSeq", "fromNode", "requirements")
"""What `{{visit.…}}` offers."""

_BRACES = re.compile(r"\{\{([^{}]+)\}\}")
_HEAD = re.compile(r"[^.\[\]]+")
_STEP = re.compile(r"\.([^.\[\]]+)|\[\s*+([0-9]{1,9})\s*+\]\s*+")
_JOINERS = "_-\u200c\u200d"
_LONGEST_REFERENCE = 400
_MOST_STEPS = 16
_LONGEST_CACHED = 64 * 1024


@value_type
class Reference:
    written: str
    """With its braces, as it stands in the text."""
    name: str
    """What stands between the braces, without blanks around it and without `?`."""
    names: tuple[str, ...]
    """The head and the names that follow it, up to the first position."""
    rest: tuple[str | int, ...]
    """The first position and what follows it."""
    optional: bool


@value_type
class Found:
    value: JsonValue
    key: str | None = None
    """The workspace key it was read from; None for what the visit was told, and for all of a node's variables together."""


@value_type
class Rendered:
    text: str
    used: Mapping[str, JsonValue]
    """Reference name to the value found for it."""
    unresolved: Sequence[str]
    """Names that were not found, each once, in order; optional ones are not among them."""
    truncated: bool = False
    """Whether the text was cut at the limit."""


def references(text: str) -> list[Reference]:
    """Return the references in a text, in order, repeated ones too."""
    return [part for part in _parts(text) if isinstance(part, Reference)]


def names_in(text: str) -> list[str]:
    """Return the names that a text refers to, each once, in order."""
    return list(dict.fromkeys(reference.name for reference in references(text)))


def read_reference(text: str) -> Reference | None:
    """Read one reference, with or without its braces; None where the text has not this form."""
    whole = _BRACES.fullmatch(text.strip())
    inner = whole[1] if whole else text
    return None if "{" in inner or "}" in inner else _read(text, inner)


def render(text: str, resolve: Callable[[Reference], Found | None], *, limit_bytes: int = MAX_RESULT_BYTES) -> Rendered:
    """Fill in a text. A name that is not found stays as it was written; an optional one becomes nothing."""
    pieces: list[str] = []
    texts: dict[str, str] = {}
    used: dict[str, JsonValue] = {}
    unresolved: dict[str, None] = {}
    length = 0
    for part in _parts(text):
        if isinstance(part, str):
            piece = part
        elif part.name in texts:
            piece = texts[part.name]
        elif found := resolve(part):
            used[part.name] = found.value
            piece = texts[part.name] = as_text(found.value)
        elif part.optional:
            piece = ""
        else:
            unresolved[part.name] = None
            piece = part.written
        pieces.append(piece)
        length += len(piece)
        if length > limit_bytes:
            break
    whole, truncated = _cut("".join(pieces), limit_bytes)
    return Rendered(whole, used, tuple(unresolved), truncated)


def as_text(value: JsonValue) -> str:
    """Return how a value stands in a text: a string as it is, anything else as compact JSON."""
    return value if isinstance(value, str) else dumps(value)


@dataclass(frozen=True, slots=True)
class _Head:
    node_id: NodeId
    end: int
    """Where the name after the node begins."""


class Resolver:
    """Finds what references stand for, in one workspace of one graph.

    `visit` holds what the visit was told (`VISIT_NAMES`); None in DAG mode, where each of these is empty.
    """

    def __init__(self, graph: Graph, workspace: Workspace, visit: Mapping[str, str] | None) -> None:
        self._graph = graph
        self._variables = workspace.variables
        self._visit = visit

    def find(self, reference: Reference) -> Found | None:
        """Return the value that a reference stands for, or None."""
        if self._is_of_visit(reference):
            return Found((self._visit or {}).get(reference.names[1], ""))
        for found, path in self._beginnings(reference):
            value = _follow(found.value, path)
            if value is not None:
                return Found(value[0], found.key)
        return None

    def knows(self, reference: Reference) -> bool:
        """Whether the reference, or a beginning of it, names something, whatever lies inside its value."""
        return self._is_of_visit(reference) or any(True for _ in self._beginnings(reference))

    def node_of(self, reference: Reference) -> NodeId | None:
        """Return the node whose id or label the reference begins with, the longest that fits."""
        heads = self._heads(".".join(reference.names))
        return heads[0].node_id if heads else None

    def _is_of_visit(self, reference: Reference) -> bool:
        names = reference.names
        if reference.rest or len(names) != 2 or names[0] != "visit" or names[1] not in VISIT_NAMES:
            return False
        return "visit" not in self._graph.nodes and "visit" not in self._graph.by_label

    def _beginnings(self, reference: Reference) -> Iterator[tuple[Found, tuple[str | int, ...]]]:
        """Yield what the reference and each shorter beginning of it names, the longest first, with the path that is left."""
        names = reference.names
        whole = ".".join(names)
        heads = self._heads(whole)
        for count in range(len(names), 0, -1):
            name = whole if count == len(names) else ".".join(names[:count])
            found = self._named(name, heads)
            if found is not None:
                yield found, (*names[count:], *reference.rest)

    def _named(self, name: str, heads: Sequence[_Head]) -> Found | None:
        if name in self._variables:
            return Found(self._variables[name], name)
        for head in heads:
            found = self._of_node(head.node_id, name[head.end :]) if head.end < len(name) else None
            if found is not None:
                return found
        latest = self._latest.get(name)
        return None if latest is None else Found(self._variables[latest], latest)

    def _of_node(self, node_id: NodeId, name: str) -> Found | None:
        key = node_id + SEPARATOR + name
        if key in self._variables:
            return Found(self._variables[key], key)
        written = self._by_node.get(node_id)
        if name != "text" or not written:
            return None
        whole = Envelope(node_id, "", {name: self._variables[key] for name, key in written.items()})
        return Found(whole.main_value, written[whole.main_name] if whole.main_name is not None else None)

    def _heads(self, name: str) -> list[_Head]:
        """Return the nodes with which a name begins: the longest beginning first, an id before a label."""
        heads: list[_Head] = []
        for at in range(len(name) - 2, 0, -1):
            width = 1 if name[at] == "." else len(SEPARATOR) if name.startswith(SEPARATOR, at) else 0
            if not width:
                continue
            head = name[:at]
            if head in self._graph.nodes:
                heads.append(_Head(NodeId(head), at + width))
            if (labelled := self._graph.by_label.get(head)) is not None:
                heads.append(_Head(labelled, at + width))
        return heads

    @cached_property
    def _by_node(self) -> Mapping[str, Mapping[str, str]]:
        """Node id to its variables: name to workspace key, in the order written."""
        found: dict[str, dict[str, str]] = {}
        for key in self._variables:
            owner = self._owner(key)
            if owner is not None:
                found.setdefault(owner, {})[key[len(owner) + len(SEPARATOR) :]] = key
        return found

    @cached_property
    def _latest(self) -> Mapping[str, str]:
        """Bare name to the key that was written last."""
        latest: dict[str, str] = {}
        for key in self._variables:
            owner = self._owner(key)
            if owner is not None:
                latest[key[len(owner) + len(SEPARATOR) :]] = key
        return latest

    def _owner(self, key: str) -> str | None:
        """Return the node that wrote a key: the longest id that fits, else what stands before the first `__`."""
        cut = key.rfind(SEPARATOR)
        while cut > 0:
            if key[:cut] in self._graph.nodes:
                return key[:cut]
            cut = key.rfind(SEPARATOR, 0, cut + 1)
        first = key.find(SEPARATOR, 1)
        return key[:first] if first > 0 else None


# Reading a text.


def _parts(text: str) -> tuple[str | Reference, ...]:
    if "{{" not in text:
        return (text,)
    return _cached_parts(text) if len(text) <= _LONGEST_CACHED else _split(text)


def _split(text: str) -> tuple[str | Reference, ...]:
    parts: list[str | Reference] = []
    done = 0
    for braces in _BRACES.finditer(text):
        reference = _read(braces[0], braces[1])
        if reference is None:
            continue
        parts.append(text[done : braces.start()])
        parts.append(reference)
        done = braces.end()
    parts.append(text[done:])
    return tuple(parts)


_cached_parts = lru_cache(maxsize=512)(_split)


@lru_cache(maxsize=4096)
def _read(written: str, inner: str) -> Reference | None:
    stripped = inner.strip()
    if len(stripped) > _LONGEST_REFERENCE:
        return None
    name = stripped.removesuffix("?").rstrip()
    steps = _steps(name)
    if steps is None:
        return None
    names = tuple(steps[: next((at for at, step in enumerate(steps) if isinstance(step, int)), len(steps))])
    return Reference(
        written=written,
        name=name,
        names=tuple(step for step in names if isinstance(step, str)),
        rest=tuple(steps[len(names) :]),
        optional=stripped.endswith("?"),
    )


def _steps(name: str) -> list[str | int] | None:
    head = _HEAD.match(name)
    if head is None or not _is_name(head[0].strip()):
        return None
    steps: list[str | int] = [head[0].strip()]
    at = head.end()
    while at < len(name):
        if len(steps) == _MOST_STEPS:
            return None
        step = _STEP.match(name, at)
        if step is None:
            return None
        if step[2] is not None:
            steps.append(int(step[2]))
        elif _is_name(step[1].strip()):
            steps.append(step[1].strip())
        else:
            return None
        at = step.end()
    return steps


def _is_name(text: str) -> bool:
    if not text or "  " in text:
        return False
    anything = False
    for char in text:
        if char.isalnum() or char == "_":
            anything = True
        elif char not in _JOINERS and char != " " and not unicodedata.category(char).startswith("M"):
            return False
    return anything


# Finding and writing values.


def _follow(value: JsonValue, path: Sequence[str | int]) -> tuple[JsonValue] | None:
    """Return the value at the end of a path, wrapped so that null is told from nothing."""
    for step in path:
        if isinstance(step, str):
            if not isinstance(value, dict) or step not in value:
                return None
            value = value[step]
        else:
            if not isinstance(value, list) or step >= len(value):
                return None
            value = value[step]
    return (value,)


def _cut(text: str, limit_bytes: int) -> tuple[str, bool]:
    if len(text) * 4 <= limit_bytes:
        return text, False
    encoded = text.encode("utf-8", errors="replace")
    if len(encoded) <= limit_bytes:
        return text, False
    return encoded[:limit_bytes].decode("utf-8", errors="ignore"), True
