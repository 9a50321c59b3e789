"""What a person or a caller gives a run: converted to the declared types, or refused by name.

A run starts only when its start nodes need not ask. A later userInput node may ask, so that what it lacks is no fault
here. Names that nobody declared are kept, with a warning, for templates may use them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

from pydantic import JsonValue

from flyback.domain.errors import BadJsonError, Fault, InputInvalidError
from flyback.domain.graph import Graph, Node, NodeId
from flyback.domain.graph_file import shown
from flyback.domain.json_value import MAX_DIGITS, loads_strict, mend
from flyback.domain.run import Mode
from flyback.domain.structure import USER_INPUT, start_nodes
from flyback.domain.template import as_text
from flyback.domain.workspace import SEPARATOR

VariableType = Literal["string", "text", "number", "integer", "boolean", "select", "json"]
VARIABLE_TYPES: tuple[str, ...] = get_args(VariableType)

MAX_NAME = 128

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_YES = frozenset({"true", "yes", "y", "on", "1", "是"})
_NO = frozenset({"false", "no", "n", "off", "0", "否"})


@dataclass(frozen=True, slots=True)
class Variable:
    """One declared variable of a userInput node, or one field of a form."""

    name: str
    label: str = ""
    type: str = "string"
    description: str = ""
    required: bool = False
    default: JsonValue = None
    options: tuple[JsonValue, ...] = ()
    """Of a select: texts or `{label, value}`."""


@dataclass(frozen=True, slots=True)
class VariablesRead:
    values: Mapping[str, JsonValue]
    """Every declared variable but those in `missing` and in `faults`: converted, or its default, or empty (a text type:
    `""`, else null)."""
    missing: tuple[str, ...]
    """Required variables that have neither value nor default."""
    faults: tuple[Fault, ...]
    """Values that cannot be converted, `field` being the name."""


@dataclass(frozen=True, slots=True)
class InputsRead:
    values: Mapping[str, JsonValue]
    """What was given, converted, and the defaults of the start nodes."""
    warnings: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class QueuedInputs:
    entries: Mapping[NodeId, tuple[Mapping[str, JsonValue], ...]]
    warnings: tuple[Fault, ...]


def variables_of(node: Node) -> tuple[Variable, ...]:
    """Return the variables that a userInput node declares, as far as they can be read."""
    return read_declared(node.data.get("variables"))


def read_declared(value: JsonValue) -> tuple[Variable, ...]:
    """Read a list of declared variables. What has no usable name is left out: the check of the graph tells of it."""
    found: dict[str, Variable] = {}
    for item in value if isinstance(value, list) else ():
        if not isinstance(item, dict):
            continue
        name = item.get("name")
        if not isinstance(name, str) or not name or name in found:
            continue
        options = item.get("options")
        found[name] = Variable(
            name=name,
            label=_text(item.get("label")),
            type=_text(item.get("type")) or "string",
            description=_text(item.get("description")),
            required=item.get("required") is True,
            default=item.get("default"),
            options=tuple(options) if isinstance(options, list) else (),
        )
    return tuple(found.values())


def read_inputs(graph: Graph, mode: Mode, given: Mapping[str, JsonValue], *, queued: Container[str] = ()) -> InputsRead:
    """Read the inputs of a run. `queued` holds the nodes for which an answer is queued: they need not ask.

    Raises:
        InputInvalidError: a start node would have to ask, a value cannot be converted, or a name cannot be used; with
            each name.
    """
    starts = [graph.nodes[node_id] for node_id in start_nodes(graph, mode) if graph.nodes[node_id].type == USER_INPUT]
    later = [node for node in graph.of_type(USER_INPUT) if node not in starts]
    values = _plain(given)
    faults = [fault for name in given if (fault := name_fault(name)) is not None]
    declared: dict[str, JsonValue] = {}
    for node in (*starts, *later):
        read = read_variables(variables_of(node), values)
        faults.extend(_at(node, read.faults))
        if node in starts and node.id not in queued:
            faults.extend(_missing(node, read.missing))
        for variable in variables_of(node):
            worth = variable.name in values or (node in starts and variable.default is not None)
            if worth and variable.name in read.values:
                declared.setdefault(variable.name, read.values[variable.name])
    _refuse(faults)
    known = {variable.name for node in (*starts, *later) for variable in variables_of(node)}
    return InputsRead({**values, **declared}, tuple(_undeclared(values.keys() - known, values)))


def read_queued_inputs(graph: Graph, queued: JsonValue) -> QueuedInputs:
    """Read `{nodeId: [{name: value}, …]}`: answers that wait for visits of userInput nodes.

    Raises:
        InputInvalidError: it has another form, names no userInput node, or an entry does not fit.
    """
    if queued is None:
        return QueuedInputs({}, ())
    fix = "Send {nodeId: [{name: value}, …]}."
    if not isinstance(queued, dict):
        raise InputInvalidError("queuedInputs is not an object.", field="queuedInputs", fix=fix)
    faults: list[Fault] = []
    warnings: list[Fault] = []
    entries: dict[NodeId, tuple[Mapping[str, JsonValue], ...]] = {}
    for key, items in queued.items():
        node = graph.nodes.get(NodeId(key))
        if node is None or node.type != USER_INPUT:
            message = f"queuedInputs names {shown(key)}, which is no userInput node of this graph."
            faults.append(Fault(message, field="queuedInputs", fix="Use the id of a userInput node."))
            continue
        if not isinstance(items, list):
            faults.append(Fault(f"queuedInputs of {shown(key)} is not a list.", key, "queuedInputs", fix))
            continue
        read = [_read_entry(node, item, place, faults, warnings) for place, item in enumerate(items)]
        if read:
            entries[node.id] = tuple(read)
    _refuse(faults)
    return QueuedInputs(entries, tuple(warnings))


def read_variables(variables: Sequence[Variable], given: Mapping[str, JsonValue]) -> VariablesRead:
    """Convert what was given to what is declared. Null, and for all but texts an empty text, count as not given."""
    values: dict[str, JsonValue] = {}
    missing: list[str] = []
    faults: list[Fault] = []
    for variable in variables:
        value = given.get(variable.name)
        if _is_nothing(value, variable):
            value = variable.default
        if _is_nothing(value, variable):
            if variable.required:
                missing.append(variable.name)
            else:
                values[variable.name] = "" if variable.type in ("string", "text", "select") else None
            continue
        try:
            values[variable.name] = _convert(value, variable)
        except _RefusedError as refused:
            what = f"{variable.name!r} is {shown(value)}, but must be {refused.wanted}."
            faults.append(Fault(what, field=variable.name, fix=f"Give {refused.wanted}."))
    return VariablesRead(values, tuple(missing), tuple(faults))


def declared_faults(node: Node) -> list[Fault]:
    """Return what is wrong with the variables that a userInput node declares: names, types, options, defaults."""
    declared = node.data.get("variables")
    faults: list[Fault] = []
    seen: set[str] = set()
    for place, item in enumerate(declared if isinstance(declared, list) else ()):
        at = f"variables.{place}"
        read = read_declared([item])
        if not read:
            faults.append(Fault(f"Node {node.id!r} declares a variable without a name.", node.id, f"{at}.name"))
            continue
        variable = read[0]
        unusable = name_fault(variable.name)
        if unusable is not None:
            faults.append(Fault(unusable.message, node.id, f"{at}.name", unusable.fix))
        elif variable.name in seen:
            message = f"Node {node.id!r} declares {variable.name!r} twice."
            faults.append(Fault(message, node.id, f"{at}.name", "Give each variable its own name."))
        seen.add(variable.name)
        faults.extend(_declaration_faults(node, variable, at))
    return faults


def name_fault(name: str) -> Fault | None:
    """Return what is wrong with the name of an input or variable, if anything."""
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        fix = f"Use a printable name of 1 to {MAX_NAME} characters."
        return Fault(f"{shown(name)} cannot be the name of a variable.", field=name[:MAX_NAME], fix=fix)
    if SEPARATOR in name or "." in name:
        message = f"The name {name!r} holds '__' or '.', which stand between a node and its variables."
        return Fault(message, field=name, fix="Use another name, for example with a single '_'.")
    return None


def options_of(variable: Variable) -> list[tuple[str, JsonValue]]:
    """Return a select's options as pairs of label and value."""
    pairs: list[tuple[str, JsonValue]] = []
    for option in variable.options:
        if isinstance(option, dict):
            value = option.get("value", option.get("label"))
            label = option.get("label", value)
            pairs.append((as_text(label), value))
        else:
            pairs.append((as_text(option), option))
    return pairs


# Helpers.


class _RefusedError(Exception):
    def __init__(self, wanted: str) -> None:
        super().__init__(wanted)
        self.wanted = wanted


def _declaration_faults(node: Node, variable: Variable, at: str) -> Iterable[Fault]:
    if variable.type not in VARIABLE_TYPES:
        message = f"Variable {variable.name!r} has the type {shown(variable.type)}, which is not known."
        yield Fault(message, node.id, f"{at}.type", f"Use one of {', '.join(VARIABLE_TYPES)}.")
        return
    if variable.type == "select" and not variable.options:
        message = f"Variable {variable.name!r} is a select without options."
        yield Fault(message, node.id, f"{at}.options", "Give it at least one option.")
        return
    for fault in read_variables([replace(variable, required=False)], {}).faults:
        yield Fault(f"The default of {fault.message}", node.id, f"{at}.default", fault.fix)


def _convert(value: JsonValue, variable: Variable) -> JsonValue:
    match variable.type:
        case "string" | "text":
            return _as_text(value)
        case "number":
            return _as_number(value)
        case "integer":
            return _as_integer(value)
        case "boolean":
            return _as_boolean(value)
        case "select":
            return _as_option(value, variable)
        case "json":
            return _as_json(value)
        case _:
            return value


def _as_text(value: JsonValue) -> str:
    if isinstance(value, (dict, list)):
        raise _RefusedError("a text")
    return as_text(value)


def _as_number(value: JsonValue) -> int | float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    digits = value.strip() if isinstance(value, str) else ""
    if _INTEGER.fullmatch(digits) and len(digits) <= MAX_DIGITS:
        return int(digits)
    if not _NUMBER.fullmatch(digits) or not math.isfinite(number := float(digits)):
        raise _RefusedError("a number")
    return number


def _as_integer(value: JsonValue) -> int:
    try:
        number = _as_number(value)
    except _RefusedError:
        raise _RefusedError("a whole number") from None
    if isinstance(number, float) and not number.is_integer():
        raise _RefusedError("a whole number")
    return int(number)


def _as_boolean(value: JsonValue) -> bool:
    if isinstance(value, bool):
        return value
    word = as_text(value).strip().lower()
    if word in _YES or word in _NO:
        return word in _YES
    raise _RefusedError("true or false")


def _as_option(value: JsonValue, variable: Variable) -> JsonValue:
    options = options_of(variable)
    if not options:
        return _as_text(value)
    for _, option in options:
        if option == value and isinstance(option, bool) == isinstance(value, bool):
            return option
    text = as_text(value)
    for _, option in options:
        if as_text(option) == text:
            return option
    for label, option in options:
        if label == text:
            return option
    names = ", ".join(repr(as_text(option)) for _, option in options[:20])
    raise _RefusedError(f"one of {names}{' …' if len(options) > 20 else ''}")


def _as_json(value: JsonValue) -> JsonValue:
    if not isinstance(value, str):
        return value
    try:
        return mend(loads_strict(value))[0]
    except BadJsonError:
        raise _RefusedError("JSON") from None


def _is_nothing(value: JsonValue, variable: Variable) -> bool:
    if value is None:
        return True
    if not isinstance(value, str):
        return False
    if variable.required or variable.type not in ("string", "text"):
        return not value.strip()
    return False


def _read_entry(
    node: Node, item: JsonValue, place: int, faults: list[Fault], warnings: list[Fault]
) -> Mapping[str, JsonValue]:
    where = f"queuedInputs.{node.id}.{place}"
    if not isinstance(item, dict):
        faults.append(Fault(f"{where} is not an object.", node.id, where, "Send {name: value}."))
        return {}
    values = _plain(item)
    variables = variables_of(node)
    read = read_variables(variables, values)
    faults.extend(fault for name in values if (fault := name_fault(name)) is not None)
    faults.extend(_at(node, read.faults))
    faults.extend(_missing(node, read.missing))
    warnings.extend(_undeclared(values.keys() - {variable.name for variable in variables}, values, node))
    return {**values, **read.values}


def _plain(given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return cast("dict[str, JsonValue]", mend(given)[0])


def _at(node: Node, faults: Iterable[Fault]) -> Iterable[Fault]:
    return (Fault(f"Input {fault.message}", node.id, fault.field, fault.fix) for fault in faults)


def _missing(node: Node, names: Iterable[str]) -> Iterable[Fault]:
    return (Fault(f"Input {name!r} is required.", node.id, name, "Give it a value.") for name in names)


def _undeclared(names: Iterable[str], values: Mapping[str, JsonValue], node: Node | None = None) -> Iterable[Fault]:
    unknown = set(names)
    by = f"node {node.id!r} does not declare" if node else "no userInput node declares"
    fix = "Declare it, or check how it is spelt."
    for name in values:
        if name in unknown:
            yield Fault(f"Input {name!r} was kept, though {by} it.", node.id if node else None, name, fix)


def _refuse(faults: Sequence[Fault]) -> None:
    distinct = list(dict.fromkeys(faults))
    if not distinct:
        return
    first = distinct[0]
    message = " ".join(fault.message for fault in distinct[:10])
    if len(distinct) > 10:
        message += f" And {len(distinct) - 10} more."
    raise InputInvalidError(message, node=first.node, field=first.field, fix=first.fix, faults=distinct)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
