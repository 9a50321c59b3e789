"""Values that are made with every step of a run: immutable to the type checker, and made at the cost of a plain object.

`dataclass(frozen=True)` sets each field through `object.__setattr__`, so that making a value takes four times as long; with
some 250 fields a visit that was a fifth of what the engine does. Strict type checking of the product and of its tests
refuses every assignment to a value's fields all the same. What is made once a run stays a frozen dataclass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_type(cls: type[T]) -> type[T]:
    """Make a class a value: compared and hashed by its fields, with slots, never to be changed."""
    make: Callable[[type[T]], type[T]] = dataclass(slots=True, unsafe_hash=True)
    return make(cls)
