"""Draws `results.svg`: every ratio to a peer as a bar, on a scale where half and double are as far from level."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from bench.figures import Figure
from bench.table import number

_ROW = 22
_LEFT, _WIDTH, _RIGHT = 390, 420, 70
_TOP = 64
_LEAST, _MOST = 1 / 32, 32.0
_COLOURS = {True: "#1a7f4b", False: "#b45309", None: "#57606a"}
_TICKS = (1 / 32, 1 / 8, 1 / 2, 1, 2, 8, 32)


def write(figures: Sequence[Figure], file: Path) -> None:
    """Write the ratios among the figures; those that are measured against an aim stand once, with their gate."""
    shown = [figure for figure in figures if figure.unit == "×" and " against " in figure.name]
    file.write_text("\n".join(_lines(shown)) + "\n")


def _lines(shown: Sequence[Figure]) -> Iterator[str]:
    width, height = _LEFT + _WIDTH + _RIGHT, _TOP + _ROW * len(shown) + 16
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="#1f2328">'
    )
    yield f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    yield '<text x="16" y="24" font-size="15" font-weight="600">Flyback against its peers</text>'
    yield (
        f'<text x="16" y="42" fill="#57606a">left of 1× is cheaper; of runs and events a second the right is more; '
        f'<tspan fill="{_COLOURS[True]}">gate met</tspan>, <tspan fill="{_COLOURS[False]}">gate missed</tspan>, '
        "no gate; the stroke is the gate</text>"
    )
    for tick in _TICKS:
        x = _place(tick)
        dash = "" if tick == 1 else ' stroke-dasharray="2 3"'
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 4}" y2="{height - 12}" stroke="#d0d7de"{dash}/>'
        named = f"1/{round(1 / tick)}" if tick < 1 else f"{tick:g}"
        yield f'<text x="{x:.1f}" y="{_TOP - 8}" text-anchor="middle" font-size="10" fill="#57606a">{named}×</text>'
    for row, figure in enumerate(shown):
        yield from _bar(figure, _TOP + row * _ROW)
    yield "</svg>"


def _bar(figure: Figure, top: int) -> Iterator[str]:
    level, end = _place(1.0), _place(figure.value)
    colour = _COLOURS[figure.is_passed]
    yield f'<text x="{_LEFT - 10}" y="{top + 14}" text-anchor="end">{escape(figure.name)}</text>'
    yield (
        f'<rect x="{min(level, end):.1f}" y="{top + 4}" width="{max(abs(end - level), 1):.1f}" height="{_ROW - 9}" '
        f'rx="2" fill="{colour}"/>'
    )
    if figure.gate is not None:
        x = _place(figure.gate.limit)
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top + 1}" y2="{top + _ROW - 2}" stroke="#1f2328" stroke-width="2"/>'
    yield f'<text x="{_LEFT + _WIDTH + 8}" y="{top + 14}" fill="{colour}">{number(figure.value)}×</text>'


def _place(ratio: float) -> float:
    """Where a ratio stands, from a thirty-second at the left to thirty-two at the right."""
    share = (math.log(min(max(ratio, _LEAST), _MOST)) - math.log(_LEAST)) / (math.log(_MOST) - math.log(_LEAST))
    return _LEFT + share * _WIDTH
