"""Undoes the compression of an answer without ever holding more than is allowed: a small body may unfold into gigabytes."""

from __future__ import annotations

import zlib
from collections.abc import Callable

_GZIP = zlib.MAX_WBITS | 16
_EITHER = zlib.MAX_WBITS | 32
ACCEPTED = "gzip, deflate"


class UnknownEncodingError(Exception):
    pass


class BrokenEncodingError(Exception):
    pass


class InflatedTooLargeError(Exception):
    pass


def inflate(body: bytes, encodings: str, limit: int) -> bytes:
    """Undo the `Content-Encoding`s of a body, last one first.

    Raises:
        UnknownEncodingError, BrokenEncodingError, InflatedTooLargeError.
    """
    names = [name.strip().lower() for name in encodings.split(",") if name.strip()]
    if len(names) > 3:
        raise UnknownEncodingError(encodings)
    for name in reversed(names):
        if name == "identity":
            continue
        body = _decoder(name)(body, limit)
    return body


def _decoder(name: str) -> Callable[[bytes, int], bytes]:
    if name in ("gzip", "x-gzip"):
        return lambda body, limit: _unfold(body, limit, _GZIP)
    if name == "deflate":
        return _deflate
    raise UnknownEncodingError(name)


def _deflate(body: bytes, limit: int) -> bytes:
    """Servers mean either of two formats by this name."""
    try:
        return _unfold(body, limit, _EITHER)
    except BrokenEncodingError:
        return _unfold(body, limit, -zlib.MAX_WBITS)


def _unfold(body: bytes, limit: int, window: int) -> bytes:
    unfolded = bytearray()
    rest = body
    while rest:
        decoder = zlib.decompressobj(window)
        try:
            unfolded += decoder.decompress(rest, limit + 1 - len(unfolded))
        except zlib.error as error:
            raise BrokenEncodingError(str(error)) from error
        if len(unfolded) > limit:
            raise InflatedTooLargeError
        if not decoder.eof:
            raise BrokenEncodingError("it ends in the middle")
        rest = decoder.unused_data
    return bytes(unfolded)
