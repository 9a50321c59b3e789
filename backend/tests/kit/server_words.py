"""Every sentence that the server says to a person, as templates, read from its source.

What is given to an error, a fault, or anything else with a `message`, a `fix`, a `cause` and the like is followed to where it
is written: through variables, parameters, helpers and constants. A hole of a template stands for what is filled in at
run time: `{0!r}` for a quoted name, `{0*}` for what may be words of ours again, `{0}` for anything else.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kit.source_index import Function, Source, added, assigned, called


@dataclass(frozen=True)
class Hole:
    kind: Literal["", "!r", "*"] = ""


Text = tuple[str | Hole, ...]

_IN_RECORDS = frozenset({"too_many_visits", "only_choice", "by_person"})
"""Those of the planner's words that stand in a record. Their holes are filled by `format`."""
SAID = frozenset(
    {"message", "fix", "why", "wanted", "cause", "what", "problem", "problems", "reason", "said", "detail", "trouble"}
    | _IN_RECORDS
)
"""Fields and parameters that hold what is said."""
_OPAQUE: Text = (Hole(),)
_OURS: Text = (Hole("*"),)
_MOST = 40
"""Forms of one sentence that are told apart; of more the parts are told."""
_MOST_OF_A_PART = 6
_KEPT = ("strip", "rstrip", "lstrip", "removeprefix", "removesuffix", "get")
_WRAPPED = ("cut", "mend_text", "next")
"""Helpers that hand on what they are given."""


def words_of(package: Path, *, without: Sequence[str] = ()) -> Mapping[str, str]:
    """Return each sentence and each part of one, and where it is said. `without`: modules that speak elsewhere."""
    reader = _Reader(Source(package), tuple(without))
    reader.read()
    return {text: min(places) for text, places in sorted(reader.found.items()) if _is_sentence(text)}


def _is_sentence(text: str) -> bool:
    """Whether it is English and more than a name, or signs around words of ours."""
    literal = re.sub(r"\{\d+(?:!r|\*)?\}", "", text)
    if re.search(r"[\u3400-\u9fff]", text):
        return False
    if re.search("[A-Za-z]{2}", literal):
        return " " in text or text.endswith(".")
    return "*}" in text and bool(re.search("[.:;] |\\.$", literal))


class _Reader:
    def __init__(self, source: Source, without: tuple[str, ...]) -> None:
        self._source = source
        self._without = without
        self._takers: defaultdict[str, set[str]] = defaultdict(set)
        """Class or function to those of its parameters that hold what is said."""
        self._given: dict[str, Mapping[str, ast.expr] | None] = {}
        """Function to what it was given by the call whose answer is being read."""
        self._ahead: set[int] = set()
        self.found: defaultdict[str, set[str]] = defaultdict(set)

    def read(self) -> None:
        for one in self._source.classes:
            self._takers[one.name] |= SAID.intersection(self._source.fields(one))
        known = -1
        while known != (known := sum(len(names) for names in self._takers.values())):
            for node in self._source.nodes():
                match node:
                    case ast.Call() if self._speaks(node):
                        self._read_call(node)
                    case ast.Assign(targets=[ast.Attribute(attr=name)], value=value) if name in SAID:
                        if self._speaks(node):
                            self._note(self._texts(value), value)
                    case ast.Dict(keys=keys, values=values) if self._speaks(node):
                        for key, value in zip(keys, values, strict=True):
                            if isinstance(key, ast.Constant) and key.value == "message":
                                self._note(self._texts(value), value)
                    case _:
                        pass

    def _speaks(self, node: ast.AST) -> bool:
        return not self._source.place(node).module.startswith(self._without)

    def _read_call(self, call: ast.Call) -> None:
        name = called(call.func) or ""
        place = self._source.place(call)
        made = self._source.find_class(place.module, name)
        if name == "__init__" and place.function is not None:
            own = self._source.find_class(place.module, place.function.owner or "")
            for base in self._source.bases(own)[1:2] if own else ():
                self._take(call, self._source.fields(base), self._takers[base.name])
        elif name == "ValueError":
            self._take(call, ["message"], {"message"})
        elif made is not None:
            self._take(call, self._source.fields(made), self._takers[made.name])
        else:
            functions = self._source.functions(call)
            for function in functions:
                self._take(call, function.parameters, self._takers[function.name])
            if not functions and any(one.arg == "fix" for one in call.keywords):  # a class that is held in a variable
                self._take(call, ["message"], {"message", "fix"})

    def _take(self, call: ast.Call, parameters: Sequence[str], wanted: set[str]) -> None:
        for parameter, value in _pairs(call, parameters) if wanted else ():
            if parameter in wanted:
                texts = self._texts(value)
                self._note(map(_filled, texts) if parameter in _IN_RECORDS else texts, value)

    def _note(self, texts: Iterable[Text], at: ast.expr) -> None:
        for text in texts:
            if any(isinstance(part, str) for part in text):
                self.found[_written(text)].add(f"{self._source.place(at).module}:{at.lineno}")

    def _texts(self, value: ast.expr) -> list[Text]:
        """Return the texts that an expression may have; nothing for what is no text."""
        if id(value) in self._ahead:
            return [_OPAQUE]
        self._ahead.add(id(value))
        try:
            return list(dict.fromkeys(self._forms(value)))[:_MOST]
        finally:
            self._ahead.discard(id(value))

    def _forms(self, value: ast.expr) -> Iterator[Text]:
        match value:
            case ast.Constant(value=text):
                if isinstance(text, str):
                    yield (text,)
            case ast.JoinedStr(values=values):
                yield from self._joined(values)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                for pair in itertools.product(self._texts(left) or [()], self._texts(right) or [()]):
                    yield _one((*pair[0], *pair[1]))
            case ast.IfExp(body=body, orelse=orelse):
                yield from self._each([body, orelse])
            case (
                ast.BoolOp(values=values)
                | ast.List(elts=values)
                | ast.Tuple(elts=values)
                | ast.Set(elts=values)
                | ast.Dict(values=values)
            ):
                yield from self._each(values)
            case (
                ast.NamedExpr(value=inner)
                | ast.Await(value=inner)
                | ast.Starred(value=inner)
                | ast.ListComp(elt=inner)
                | ast.GeneratorExp(elt=inner)
                | ast.Subscript(value=inner, slice=ast.Slice())
            ):
                yield from self._texts(inner)
            case ast.Subscript(slice=ast.Constant(value=str() as key)):
                yield _OURS if key in SAID or key == "msg" else _OPAQUE
            case ast.Subscript(value=ast.Name() | ast.Dict() | ast.Attribute() as inner):
                yield from self._texts(inner)
            case ast.Name():
                yield from self._named(value)
            case ast.Attribute():
                constant = self._source.constant(value)
                yield from [_OURS if value.attr in SAID else _OPAQUE] if constant is None else self._texts(constant)
            case ast.Call():
                yield from self._answer(value)
            case _:
                yield _OPAQUE

    def _each(self, values: Iterable[ast.expr]) -> Iterator[Text]:
        for value in values:
            yield from self._texts(value)

    def _named(self, node: ast.Name) -> Iterator[Text]:
        function = self._source.place(node).function
        if function is not None:
            values = list(assigned(function, node.id))
            if values:
                yield from self._lengthened(function, node.id, list(self._each(values)))
                return
            given = self._given.get(function.name)
            if given is not None and node.id in given:
                yield from self._texts(given[node.id])
                return
            if node.id in function.parameters:
                if given is not None:  # it has its default
                    yield _OPAQUE
                    return
                is_made = function.node.name == "__init__"
                self._takers[f"{function.module}.{function.owner}" if is_made else function.name].add(node.id)
                yield _OURS
                return
            if any(isinstance(one, ast.ExceptHandler) and one.name == node.id for one in ast.walk(function.node)):
                yield _OURS
                return
        constant = self._source.constant(node)
        yield from [_OPAQUE] if constant is None else self._texts(constant)

    def _lengthened(self, function: Function, name: str, texts: Sequence[Text]) -> Iterator[Text]:
        """The texts of a variable, and what is added to them: a sentence of its own, or the rest of theirs."""
        yield from texts
        for more in added(function, name):
            for text in self._texts(more):
                if text and isinstance(text[0], str) and re.match(r"\s*[a-z]", text[0]):
                    yield from (_one((*begun, *text)) for begun in texts)
                else:
                    self._note([text], more)

    def _answer(self, call: ast.Call) -> Iterator[Text]:
        """What a call gives: a text that it changes, or what the function returns."""
        match call:
            case ast.Call(
                func=ast.Attribute(value=ast.Constant(value=str() as between), attr="join"),
                args=[ast.List(elts=values)],
            ) if any(isinstance(one, ast.Constant) for one in values):
                parts = [[_OURS] if isinstance(one, ast.Starred) else self._texts(one) or [()] for one in values]
                for one in values:
                    self._note(self._texts(one) if isinstance(one, ast.Starred) else (), one)
                for chosen in itertools.product(*parts):
                    yield _one(part for text in _between(chosen, (between,)) for part in text)
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as between), attr="join"), args=[values]):
                yield from self._texts(values)
                if re.search("[a-z]", between):
                    self._note([_one((between.lstrip("; "), Hole("*")))], call)
                yield _OURS
            case ast.Call(func=ast.Attribute(value=text, attr="format")):
                yield from (_filled(one) for one in self._texts(text))
            case ast.Call(func=ast.Attribute(value=text, attr=name), args=args) if name in _KEPT:
                stripped = args[0].value if name == "rstrip" and args and isinstance(args[0], ast.Constant) else ""
                for one in self._texts(text):
                    yield (*one[:-1], one[-1].rstrip(str(stripped))) if stripped and isinstance(one[-1], str) else one
                yield from self._each(args[1:])
            case ast.Call(func=ast.Attribute(value=ast.Name() as mapping, attr="items" | "values")):
                yield from self._texts(mapping)
            case ast.Call(func=ast.Name(id="repr")):
                yield (Hole("!r"),)
            case ast.Call(func=ast.Name(id="as_text")):  # a value of the user's own
                yield _OPAQUE
            case ast.Call(func=ast.Name(id="str")):
                yield _OURS
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _WRAPPED:
                yield from self._texts(first)
            case _:
                functions = [one for one in self._source.functions(call) if _gives_text(one)]
                if not functions or self._source.find_class("", called(call.func) or ""):
                    yield _OPAQUE
                for function in functions:
                    before = self._given.get(function.name)
                    self._given[function.name] = dict(_pairs(call, function.parameters))
                    texts = list(self._each(function.returned))
                    self._given[function.name] = before
                    yield from texts

    def _joined(self, values: Sequence[ast.expr]) -> Iterator[Text]:
        parts = [self._part(value) for value in values]
        total = 1
        for forms in parts:
            total *= len(forms)
        if total > _MOST:
            for value, forms in zip(values, parts, strict=True):
                self._note(forms if len(forms) > 1 else (), value)
            parts = [forms if len(forms) == 1 else [_OURS] for forms in parts]
        for chosen in itertools.product(*parts):
            yield _one(part for text in chosen for part in text)

    def _part(self, value: ast.expr) -> list[Text]:
        """The forms of one part of an f-string: written out where all are words, else a hole and its words noted."""
        match value:
            case ast.FormattedValue(conversion=114):
                return [(Hole("!r"),)]
            case ast.FormattedValue(format_spec=ast.expr()):
                return [_OPAQUE]
            case ast.FormattedValue(value=inner):
                forms = self._texts(inner) or [_OPAQUE]
            case _:
                return self._texts(value)
        words = [text for text in forms if any(isinstance(part, str) for part in text)]
        if len(words) == len(forms) <= _MOST_OF_A_PART:
            return forms
        self._note(words, value)
        kinds = {part.kind for text in forms for part in text if isinstance(part, Hole)}
        return [(Hole("!r"),)] if not words and kinds == {"!r"} else [_OURS if words or "*" in kinds else _OPAQUE]


def _pairs(call: ast.Call, parameters: Sequence[str]) -> list[tuple[str, ast.expr]]:
    """Parameter and what it is given."""
    named = [(one.arg, one.value) for one in call.keywords if one.arg is not None]
    return [*zip(parameters, call.args, strict=False), *named]


def _gives_text(function: Function) -> bool:
    annotation = "" if function.node.returns is None else ast.unparse(function.node.returns)
    return "str" in annotation or "Unusable" in annotation


def _one(parts: Iterable[str | Hole]) -> Text:
    """Join neighbouring literal parts."""
    joined: list[str | Hole] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(last := joined[-1], str):
            joined[-1] = last + part
        elif part != "":
            joined.append(part)
    return tuple(joined)


def _between(texts: Sequence[Text], between: Text) -> list[Text]:
    return [one for text in texts for one in (between, text)][1:]


def _filled(text: Text) -> Text:
    """A text whose `{name}`s are filled in by `format`."""
    parts: list[str | Hole] = []
    for part in text:
        if isinstance(part, Hole):
            parts.append(part)
            continue
        for place, piece in enumerate(re.split(r"\{(\w*)\}", part)):
            if place % 2 == 0:
                parts.append(piece)
            else:
                parts.append(Hole("*") if piece in SAID else Hole())
    return _one(parts)


def _written(text: Text) -> str:
    numbers = itertools.count()
    return "".join(part if isinstance(part, str) else f"{{{next(numbers)}{part.kind}}}" for part in text).strip()
