"""The base of everything that crosses the HTTP door.

`Payload` is what a caller sends: camelCase, and a field that we do not know is refused. `Document` is a workflow document:
what we do not know in it is kept. `Answer` is what we send back.
"""

from __future__ import annotations

from typing import Annotated, TypeVar

from fastapi import Path, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from flyback.domain.json_value import mend_text

INT32 = 2**31 - 1


class Payload(BaseModel):
    """A request's body."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", frozen=True, allow_inf_nan=False, protected_namespaces=()
    )


class Document(BaseModel):
    """A document whose unknown keys are kept."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="allow", frozen=True, allow_inf_nan=False, protected_namespaces=()
    )


class Answer(BaseModel):
    """A response's body."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        protected_namespaces=(),
        json_schema_serialization_defaults_required=True,
    )


_T = TypeVar("_T")


def _mended(text: str | None) -> str | None:
    return None if text is None else mend_text(text)


def _is_none(value: object) -> bool:
    return value is None


Omitted = Annotated[_T | None, Field(default=None, exclude_if=_is_none)]
"""A field of an answer that is left out where there is nothing to say."""

PlainText = Annotated[str, AfterValidator(mend_text)]
"""Text that is stored in a column of its own: NUL, which a database cannot carry, becomes U+FFFD."""

Name = Annotated[PlainText, Field(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=0, le=INT32)]
Time = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
"""ISO-8601 in UTC with `Z`, as it is stored."""


Id = Annotated[str, Path(max_length=64, pattern="^[A-Za-z0-9_.-]+$")]
"""An id in a path. One that cannot be ours is not found."""
FolderName = Annotated[str, Path(max_length=255, pattern="^[^\x00]+$")]
SearchText = Annotated[str | None, Query(max_length=200), AfterValidator(_mended)]
"""What a list is searched for."""
PathNumber = Annotated[int, Path(ge=0, le=INT32)]


class WholeList(Answer):
    """A list that is never long: in the form of a page, and always the only one."""

    next_cursor: None = None
    total: int


class Page(Answer):
    """One page of a list. `nextCursor` asks for the next one and is null at the end."""

    next_cursor: str | None
    total: int = Field(description="How many there are in all, on all pages.")
