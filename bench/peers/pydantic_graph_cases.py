"""pydantic-graph's workloads. It has no storage, so there is only one way to run each."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from pydantic_graph import BaseNode, End, GraphBuilder, GraphRunContext, StepContext, reduce_dict_update

from bench.case import TEXT_200, TEXT_500, Case, Sizes, fixed, serve, text

_SLEEP_SECONDS = 0.02


@dataclass
class State:
    workspace: dict[str, str] = field(default_factory=dict)
    number: int = 0
    visits: int = 0


def chain(length: int, sleep_seconds: float = 0.0) -> Any:
    graph = GraphBuilder(state_type=State, output_type=int, auto_instrument=False)
    steps = []
    for place in range(length):

        async def work(ctx: StepContext[State, None, Any], place: int = place) -> int:
            if sleep_seconds:
                await asyncio.sleep(sleep_seconds)
            ctx.state.workspace[f"v{place}"] = text(place, TEXT_200)
            return 0

        steps.append(graph.step(work, node_id=f"n{place}"))
    graph.add(graph.edge_from(graph.start_node).to(steps[0]))
    for before, after in pairwise(steps):
        graph.add(graph.edge_from(before).to(after))
    graph.add(graph.edge_from(steps[-1]).to(graph.end_node))
    return graph.build()


def fan(width: int) -> Any:
    graph = GraphBuilder(state_type=State, output_type=dict, auto_instrument=False)

    async def source(_: StepContext[State, None, Any]) -> int:
        return 0

    first = graph.step(source, node_id="source")
    steps = []
    for place in range(width):

        async def work(_: StepContext[State, None, Any], place: int = place) -> dict[str, str]:
            return {f"v{place}": text(place, TEXT_200)}

        steps.append(graph.step(work, node_id=f"b{place}"))
    join = graph.join(reduce_dict_update, initial_factory=dict, node_id="join")
    graph.add(graph.edge_from(graph.start_node).to(first), graph.edge_from(first).to(*steps))
    for step in steps:
        graph.add(graph.edge_from(step).to(join))
    graph.add(graph.edge_from(join).to(graph.end_node))
    return graph.build()


# The loop: its nodes are classes, and what `run` may return is read from its annotation, so each is written out.


def _pick(state: State, place: int) -> Any:
    number = state.number = state.number + 1
    state.workspace[f"v{number - 1}"] = text(number, TEXT_500)
    return End(number) if number >= state.visits else _LOOP[(place + 1 + number % 3) % len(_LOOP)]()


@dataclass
class A0(BaseNode[State, None, int]):
    async def run(self, ctx: GraphRunContext[State]) -> A0 | A1 | A2 | A3 | A4 | End[int]:
        return _pick(ctx.state, 0)


@dataclass
class A1(BaseNode[State, None, int]):
    async def run(self, ctx: GraphRunContext[State]) -> A0 | A1 | A2 | A3 | A4 | End[int]:
        return _pick(ctx.state, 1)


@dataclass
class A2(BaseNode[State, None, int]):
    async def run(self, ctx: GraphRunContext[State]) -> A0 | A1 | A2 | A3 | A4 | End[int]:
        return _pick(ctx.state, 2)


@dataclass
class A3(BaseNode[State, None, int]):
    async def run(self, ctx: GraphRunContext[State]) -> A0 | A1 | A2 | A3 | A4 | End[int]:
        return _pick(ctx.state, 3)


@dataclass
class A4(BaseNode[State, None, int]):
    async def run(self, ctx: GraphRunContext[State]) -> A0 | A1 | A2 | A3 | A4 | End[int]:
        return _pick(ctx.state, 4)


_LOOP = [A0, A1, A2, A3, A4]


def loop() -> Any:
    graph = GraphBuilder(state_type=State, input_type=A0, output_type=int, auto_instrument=False)
    graph.add(*(graph.node(node) for node in _LOOP), graph.edge_from(graph.start_node).to(A0))
    return graph.build()


def cases(sizes: Sizes) -> list[Case]:
    long_chain, wide, circle = chain(sizes.chain), fan(sizes.fan), loop()
    short, slow = chain(10), chain(10, _SLEEP_SECONDS)

    async def many(graph: Any) -> None:
        await asyncio.gather(*(graph.run(state=State()) for _ in range(sizes.runs)))

    return [
        Case("W1 bare", sizes.chain, fixed(lambda: long_chain.run(state=State()))),
        Case("W2 bare", sizes.fan + 2, fixed(lambda: wide.run(state=State()))),
        Case("W3 bare", sizes.visits, fixed(lambda: circle.run(state=State(visits=sizes.visits), inputs=A0()))),
        Case("W4 bare", sizes.runs, fixed(lambda: many(short))),
        Case("W5 bare", sizes.runs * 10, fixed(lambda: many(slow))),
    ]


if __name__ == "__main__":
    serve(cases(Sizes.of(sys.argv)))
