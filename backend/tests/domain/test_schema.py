"""Declared outputs: the schema a model is asked for, and the reading of its answer."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from pydantic import JsonValue

from flyback.domain.schema import FieldsUnreadableError, output_schema, read_answer, read_fields


@dataclass(frozen=True)
class Field:
    name: str
    type: str = "string"
    description: str = ""


def test_a_schema_has_exactly_the_declared_fields() -> None:
    assert output_schema([Field("title", description="Short."), Field("n", "int"), Field("x", "whatever")]) == {
        "type": "object",
        "properties": {"title": {"type": "string", "description": "Short."}, "n": {"type": "integer"}, "x": {}},
        "required": ["title", "n", "x"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("type_", "given", "value"),
    [
        ("string", 5, "5"),
        ("string", {"a": 1}, '{"a":1}'),
        ("number", "2.5", 2.5),
        ("integer", "12345678901234567890123", 12345678901234567890123),
        ("integer", 3.0, 3),
        ("boolean", "True", True),
        ("object", {"a": 1}, {"a": 1}),
        ("array", [1], [1]),
        ("array", ' ["a", 2]', ["a", 2]),
        ("object", '{"a": {"b": 1}}', {"a": {"b": 1}}),
        ("any", "x", "x"),
        ("object", None, None),
    ],
)
def test_a_field_is_converted_where_nothing_is_lost(type_: str, given: JsonValue, value: JsonValue) -> None:
    assert read_fields([Field("v", type_)], {"V": given, "other": 1}) == {"v": value}


@pytest.mark.parametrize(
    ("type_", "given"), [("array", "a, b"), ("array", '{"a": 1}'), ("object", "[1]"), ("object", '{"a": NaN}')]
)
def test_a_text_that_holds_no_such_value_is_not_converted(type_: str, given: JsonValue) -> None:
    with pytest.raises(FieldsUnreadableError, match=f"'v' is no {type_}"):
        read_fields([Field("v", type_)], {"v": given})


def test_what_is_missing_or_of_another_type_is_told_at_once() -> None:
    with pytest.raises(FieldsUnreadableError, match="'a' is missing; the field 'n' is no integer"):
        read_fields([Field("a"), Field("n", "integer"), Field("o", "object")], {"n": "few", "o": {}})


def test_the_last_object_that_holds_all_fields_is_the_answer() -> None:
    fields = [Field("v", "object")]
    answer = 'First {"v": {"n": 1}}, no:\n```json\n{"v": {"n": NaN}}\n```\nbecause {"w": 2}'
    values, notes = read_answer(fields, answer)
    assert values == {"v": {"n": None}}
    assert len(notes) == 1
    for unreadable in ("no object", '{"w": 1}'):
        with pytest.raises(FieldsUnreadableError):
            read_answer(fields, unreadable)
