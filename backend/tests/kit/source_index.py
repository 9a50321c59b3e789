"""The product's source as it is written: its functions, classes and constants by name, and who calls what.

It is read and never run. Names are looked up as Python would, as far as a reader could without running anything.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Function:
    module: str
    owner: str | None
    """The class that it stands in."""
    node: FunctionNode
    returned: list[ast.expr] = field(default_factory=list[ast.expr])

    @property
    def name(self) -> str:
        return f"{self.module}.{self.owner or ''}.{self.node.name}"

    @property
    def parameters(self) -> list[str]:
        """In the order in which a call gives them, `self` left out."""
        arguments = self.node.args
        names = [one.arg for one in [*arguments.posonlyargs, *arguments.args]]
        if self.owner is not None and names[:1] in (["self"], ["cls"]):
            names = names[1:]
        return [*names, *(one.arg for one in arguments.kwonlyargs)]


@dataclass(frozen=True)
class Class:
    module: str
    node: ast.ClassDef

    @property
    def name(self) -> str:
        return f"{self.module}.{self.node.name}"


@dataclass(frozen=True)
class Place:
    """Where an expression stands."""

    module: str
    function: Function | None


class Source:
    """All modules of a package."""

    def __init__(self, package: Path) -> None:
        self._places: dict[ast.AST, Place] = {}
        self._functions: defaultdict[str, list[Function]] = defaultdict(list)
        self._classes: defaultdict[str, list[Class]] = defaultdict(list)
        self._constants: dict[tuple[str, str], ast.expr] = {}
        self._imports: dict[tuple[str, str], tuple[str, str]] = {}
        self.trees: Mapping[str, ast.Module] = {
            ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): ast.parse(
                path.read_text("utf-8")
            )
            for path in sorted(package.rglob("*.py"))
        }
        for module, tree in self.trees.items():
            self._read(tree, Place(module, None), None)

    def _read(self, node: ast.AST, place: Place, owner: str | None) -> None:
        for child in ast.iter_child_nodes(node):
            self._places[child] = place
            match child:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    made = Function(place.module, owner, child)
                    self._functions[child.name].append(made)
                    self._read(child, Place(place.module, made), owner)
                case ast.ClassDef():
                    self._classes[child.name].append(Class(place.module, child))
                    self._read(child, place, child.name)
                case _:
                    self._note(child, place, owner)
                    self._read(child, place, owner)

    def _note(self, node: ast.AST, place: Place, owner: str | None) -> None:
        match node:
            case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
                if place.function is not None:
                    place.function.returned.append(value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if place.function is None:
                self._constants[place.module if owner is None else f"{place.module}.{owner}", name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if place.function is None:
                # In a class it is a field, and its value a default.
                if owner is None or _is_shared(node):
                    self._constants[place.module if owner is None else f"{place.module}.{owner}", name] = value
            case ast.ImportFrom(module=str() as source, names=names):
                for alias in names:
                    self._imports[place.module, alias.asname or alias.name] = (source, alias.name)
            case _:
                pass

    def place(self, node: ast.AST) -> Place:
        return self._places[node]

    def nodes(self) -> Iterator[ast.AST]:
        for tree in self.trees.values():
            yield from ast.walk(tree)

    @property
    def classes(self) -> Sequence[Class]:
        return [one for several in self._classes.values() for one in several]

    def find_class(self, module: str, name: str) -> Class | None:
        """The class that a module knows by this name: its own, or what it imports."""
        several = self._classes.get(name, [])
        source, _ = self._imports.get((module, name), ("", ""))
        own = [one for one in several if one.module == module]
        imported = [one for one in several if source and one.module.startswith(source)]
        return next(iter([*own, *imported, *several]), None)

    def bases(self, one: Class) -> Sequence[Class]:
        """The classes of ours that it is made from, itself first, each once."""
        found = [one]
        for inner in found:
            named = [self.find_class(inner.module, called(base) or "") for base in inner.node.bases]
            found.extend(base for base in named if base is not None and base not in found)
        return found

    def is_error(self, one: Class) -> bool:
        return any(
            called(base) in ("Exception", "ValueError") for inner in self.bases(one) for base in inner.node.bases
        )

    def fields(self, one: Class) -> list[str]:
        """What a call of the class takes, in order: the parameters of `__init__`, else the declared fields."""
        inside = [(base, inner) for base in self.bases(one) for inner in base.node.body]
        for base, inner in inside:
            if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
                return Function(base.module, base.node.name, inner).parameters
        if self.is_error(one):
            return ["message"]
        own = [inner for _, inner in inside if isinstance(inner, ast.AnnAssign)]
        return [inner.target.id for inner in own if isinstance(inner.target, ast.Name) and not _is_shared(inner)]

    def functions(self, call: ast.Call) -> list[Function]:
        """The functions that a call may mean."""
        place = self._places[call]
        match call.func:
            case ast.Name(id=name):
                source, inner = self._imports.get((place.module, name), (place.module, name))
                return [
                    one
                    for one in self._functions[inner]
                    if one.module == source or (one.owner is None and one.module.startswith(f"{source}."))
                ]
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                owner = place.function.owner if place.function else None
                return [one for one in self._functions[name] if one.module == place.module and one.owner == owner]
            case ast.Attribute(value=ast.Name(id=module), attr=name) if (place.module, module) in self._imports:
                return [
                    one for one in self._functions[name] if one.module == ".".join(self._imports[place.module, module])
                ]
            case ast.Attribute(attr=name):
                methods = [one for one in self._functions[name] if one.owner is not None]
                return methods if len(methods) <= _FEW else []
            case _:
                return []

    def constant(self, node: ast.Name | ast.Attribute) -> ast.expr | None:
        """What a name of the module, or of the class, stands for."""
        place = self._places[node]
        if isinstance(node, ast.Attribute):
            owner = place.function.owner if place.function else None
            is_own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            return self._constants.get((f"{place.module}.{owner}", node.attr)) if is_own else None
        return self._constants.get((place.module, node.id)) or self._constants.get(
            self._imports.get((place.module, node.id), ("", ""))
        )


_FEW = 4
"""A method of an unknown object is looked up by its name alone, where only few classes have one."""


def _is_shared(declared: ast.AnnAssign) -> bool:
    return "ClassVar" in ast.unparse(declared.annotation)


def called(function: ast.expr) -> str | None:
    """The last part of a name."""
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return None


def assigned(function: Function, name: str) -> Iterator[ast.expr]:
    """Everything that a local name is set to or, as a list or mapping, is given."""
    for node in ast.walk(function.node):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _in_target(target, value, name)
            case (
                ast.For(target=ast.Tuple() as target, iter=value)
                | ast.comprehension(target=ast.Tuple() as target, iter=value)
            ):
                yield from _in_target(target, value, name)
            case (
                ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value)
                | ast.NamedExpr(target=ast.Name(id=target), value=value)
                | ast.For(target=ast.Name(id=target), iter=value)
                | ast.comprehension(target=ast.Name(id=target), iter=value)
            ):
                if target == name:
                    yield value
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=target), attr="append" | "extend" | "setdefault"), args=[*_, value]
            ):
                if target == name:
                    yield value
            case _:
                pass


def added(function: Function, name: str) -> Iterator[ast.expr]:
    """What is added to a local name's end by `+=`."""
    for node in ast.walk(function.node):
        match node:
            case ast.AugAssign(target=ast.Name(id=target), value=value) if target == name:
                yield value
            case _:
                pass


def _in_target(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.expr]:
    match target, value:
        case ((ast.Name(id=one) | ast.Subscript(value=ast.Name(id=one))), _) if one == name:
            yield value
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for one, part in zip(targets, values, strict=True):
                yield from _in_target(one, part, name)
        case ast.Tuple(), ast.IfExp(body=body, orelse=orelse):
            yield from _in_target(target, body, name)
            yield from _in_target(target, orelse, name)
        case ast.Tuple(elts=targets), _ if any(isinstance(one, ast.Name) and one.id == name for one in targets):
            yield value
        case _:
            pass
