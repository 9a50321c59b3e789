"""Asking a person for the values of variables: a form with one field for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from flyback.domain.errors import AnswerTimeoutError
from flyback.domain.graph import Node
from flyback.domain.inputs import Variable, options_of
from flyback.domain.pause import Question


def field_of(variable: Variable) -> Question:
    """Return the field of a form in which a variable's value is given."""
    choices = tuple(label for label, _ in options_of(variable)) if variable.type == "select" else ()
    return Question(variable.name, variable.label or variable.name, choices=choices, variable=variable)


def filled_in(variables: Sequence[Variable], values: Mapping[str, JsonValue]) -> list[Question]:
    """Return the fields, with what is known of their values already filled in."""
    known = [
        replace(variable, default=values[variable.name]) if values.get(variable.name) is not None else variable
        for variable in variables
    ]
    return [field_of(variable) for variable in known]


def nobody_answered(node: Node, *, without_default: Sequence[str] = ()) -> AnswerTimeoutError:
    if without_default:
        names = ", ".join(repr(name) for name in without_default)
        what, fix = (
            f", and {names} has no default",
            "Give the required fields a default, or let it leave by the timeout.",
        )
    else:
        what, fix = "", "Give people more time, or let the node take its defaults or leave by the timeout handle."
    return AnswerTimeoutError(f"nobody answered node {node.id!r} in time{what}", node=node.id, field="timeout", fix=fix)
