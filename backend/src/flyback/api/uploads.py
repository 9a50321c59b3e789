"""Files that come as the form field `file`."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from flyback.domain.errors import InvalidError

FORM_SCHEMA: dict[str, Any] = {
    "schema": {
        "type": "object",
        "required": ["file"],
        "properties": {"file": {"type": "string", "format": "binary"}},
    }
}


def body_of(**content: dict[str, Any]) -> dict[str, Any]:
    """Describe a body that may be a form with a file, or one of `content`, by media type with `_` for `/`."""
    kinds = {kind.replace("_", "/", 1): schema for kind, schema in content.items()}
    return {"requestBody": {"required": True, "content": {**kinds, "multipart/form-data": FORM_SCHEMA}}}


async def file_of(request: Request) -> bytes:
    """Return the file of a form. Raises InvalidError where there is none."""
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        async with request.form(max_files=1, max_fields=10) as form:
            file = form.get("file")
            if file is not None and not isinstance(file, str):
                return await file.read()
    raise InvalidError("The form has no file.", field="file", fix="Send the file as the form field `file`.")
