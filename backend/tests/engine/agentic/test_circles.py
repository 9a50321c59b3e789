"""Steps that led nowhere are found, and a small model does not take them for ever."""

from __future__ import annotations

from functools import reduce

import pytest

from engine.agentic.drawings import ended, graph_of
from flyback.domain.visit import Visit
from flyback.engine.agentic.circles import steps_in_a_circle

GRAPH = graph_of("A -> B; B -> C; C -> out")


def _visits(route: str) -> list[Visit]:
    """Node and what it said, such as `Ax By`."""

    def append(visits: list[Visit], step: str) -> list[Visit]:
        after = visits[-1] if visits else None
        return [*visits, ended(GRAPH, step[0], data={"text": step[1:]}, after=after)]

    start: list[Visit] = []
    return reduce(append, route.split(), start)


@pytest.mark.parametrize(
    ("route", "circles"),
    [
        ("Ax", {}),
        ("Ax Bx", {}),
        ("Ax Bx Ax", {}),
        ("Ax Bx Cx Bx", {}),
        ("Ax Bx Cx Bx Cx", {"B": 1}),
        ("Ax Bx Cx Bx Cx Bx Cx", {"B": 2}),
        ("Ax Bx Bx", {"B": 1}),
        ("Ax Bx Cx By Cx", {}),
        ("Ax Bx Cx Bx Cx Bx Cy", {}),
        ("Ax Bx Cx Ax Bx Cx Bx Cx", {"B": 1, "A": 1}),
    ],
)
def test_a_step_counts_for_each_time_that_it_led_back_here_with_nothing_new(
    route: str, circles: dict[str, int]
) -> None:
    assert steps_in_a_circle(_visits(route)) == circles
