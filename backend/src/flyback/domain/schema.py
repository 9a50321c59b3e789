"""Declared outputs: the JSON schema a model is asked to keep to, and the reading of what it answered.

A field's type is `string`, `number`, `integer`, `boolean`, `object`, `array` or `any`; other words for these are understood,
and what is not known is `any`. A value is converted where nothing is lost by it; null is taken for every type.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from pydantic import JsonValue

from flyback.domain.errors import BadJsonError
from flyback.domain.json_value import dumps, loads_strict
from flyback.domain.lenient_json import FoundObject, find_objects

_TYPES: Mapping[str, str] = {
    "string": "string",
    "text": "string",
    "str": "string",
    "markdown": "string",
    "number": "number",
    "float": "number",
    "integer": "integer",
    "int": "integer",
    "boolean": "boolean",
    "bool": "boolean",
    "object": "object",
    "dict": "object",
    "array": "array",
    "list": "array",
}
_NUMBER = re.compile(r"[+-]?[0-9]{1,300}(?:\.[0-9]{0,300})?(?:[eE][+-]?[0-9]{1,3})?")


class OutputFieldLike(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def description(self) -> str: ...


class FieldsUnreadableError(Exception):
    """An answer does not hold the declared fields; the message names what is wrong, for the record and for the model."""


def output_schema(fields: Sequence[OutputFieldLike]) -> dict[str, JsonValue]:
    """Return the JSON schema of an object with exactly these fields."""
    properties: dict[str, JsonValue] = {field.name: _schema_of(field) for field in fields}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_fields(fields: Sequence[OutputFieldLike], found: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the declared fields of an object, converted; what else it holds is left out.

    Raises:
        FieldsUnreadableError: a field is missing or has a value of another type.
    """
    values: dict[str, JsonValue] = {}
    faults: list[str] = []
    for field in fields:
        name = _name_in(found, field.name)
        if name is None:
            faults.append(f"the field {field.name!r} is missing")
            continue
        converted = _converted(found[name], _TYPES.get(field.type.strip().lower(), "any"))
        if converted is None:
            faults.append(f"the field {field.name!r} is no {field.type}")
        else:
            values[field.name] = converted[0]
    if faults:
        raise FieldsUnreadableError("; ".join(faults))
    return values


def read_answer(fields: Sequence[OutputFieldLike], answer: str) -> tuple[dict[str, JsonValue], tuple[str, ...]]:
    """Return the declared fields of the last object in a model's answer that holds them all, and notes on what was mended.

    Raises:
        FieldsUnreadableError: no object does.
    """
    found = find_objects(answer)
    if not found:
        raise FieldsUnreadableError("the answer holds no JSON object")
    fault: FieldsUnreadableError | None = None
    for candidate in _latest_first(found):
        try:
            return read_fields(fields, candidate.value), candidate.notes
        except FieldsUnreadableError as error:
            fault = fault or error
    assert fault is not None
    raise fault


def _latest_first(found: Sequence[FoundObject]) -> Iterable[FoundObject]:
    return reversed(found)


def _schema_of(field: OutputFieldLike) -> JsonValue:
    schema: dict[str, JsonValue] = {}
    known = _TYPES.get(field.type.strip().lower())
    if known is not None:
        schema["type"] = known
    if field.description:
        schema["description"] = field.description
    return schema


def _name_in(found: Mapping[str, JsonValue], name: str) -> str | None:
    if name in found:
        return name
    alike = [key for key in found if key.strip().lower() == name.strip().lower()]
    return alike[0] if len(alike) == 1 else None


def _converted(value: JsonValue, wanted: str) -> tuple[JsonValue] | None:
    """Return the value in the wanted type, wrapped so that null is told from nothing; None where it cannot be had."""
    if value is None or wanted == "any":
        return (value,)
    match wanted:
        case "string":
            return (value if isinstance(value, str) else dumps(value),)
        case "number" | "integer":
            return _number(value, whole=wanted == "integer")
        case "boolean":
            return _boolean(value)
        case "object":
            value = unpacked(value, "{")
            return (value,) if isinstance(value, dict) else None
        case _:
            value = unpacked(value, "[")
            return (value,) if isinstance(value, list) else None


def unpacked(value: JsonValue, begins: str) -> JsonValue:
    """What a text holds that is itself JSON: models pack lists and objects into one now and then."""
    if not isinstance(value, str) or not value.lstrip().startswith(begins):
        return value
    try:
        return loads_strict(value)
    except BadJsonError:
        return value


def _number(value: JsonValue, *, whole: bool) -> tuple[int | float] | None:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = int(value) if value.strip().lstrip("+-").isdigit() else float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, float):
        if not math.isfinite(value) or (whole and not value.is_integer()):
            return None
        return (int(value) if whole else value,)
    return (value,)


def _boolean(value: JsonValue) -> tuple[bool] | None:
    if isinstance(value, bool):
        return (value,)
    word = value.strip().lower() if isinstance(value, str) else ""
    return (word == "true",) if word in ("true", "false") else None
