"""Searching for what breaks a reader: bytes near to those of a corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

_CORPUS = Path(__file__).parents[1] / "corpus"


def seeds(folder: str) -> dict[str, bytes]:
    """Return the files of a folder of the corpus, by name. What once broke a reader stays there."""
    return {path.name: path.read_bytes() for path in sorted((_CORPUS / folder).iterdir())}


def fed_with(folder: str, bits: Sequence[bytes]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a test each file of a folder of the corpus as `raw`, then what is near to them. `bits` are what is put in."""
    corpus = [*seeds(folder).values()]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        for raw in corpus:
            test = example(raw=raw)(test)
        return given(raw=near(corpus, bits))(test)

    return decorate


@st.composite
def near(draw: st.DrawFn, corpus: Sequence[bytes], bits: Sequence[bytes]) -> bytes:
    """A file of the corpus with some pieces cut out, moved and put in, or the half of one before the half of another."""
    raw = draw(st.sampled_from(corpus))
    if draw(st.booleans()):
        other = draw(st.sampled_from(corpus))
        raw = raw[: draw(st.integers(0, len(raw)))] + other[draw(st.integers(0, len(other))) :]
    for _ in range(draw(st.integers(0, 4))):
        begin = draw(st.integers(0, len(raw)))
        end = draw(st.integers(begin, min(len(raw), begin + 12)))
        piece = draw(st.sampled_from(bits) | st.binary(max_size=3) | st.just(raw[begin:end] * draw(st.integers(2, 40))))
        raw = raw[:begin] + piece + raw[end:]
    return raw
