"""The inbox that the nodes of a DAG run report to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from flyback.domain.graph import NodeId
from flyback.domain.pause import Pause
from flyback.engine.dag.work import Work
from flyback.engine.execute import OnFailedAttempt, OnKept
from flyback.engine.outcome import NodeOutcome


async def _for_ever(node_id: NodeId, on_failed: OnFailedAttempt, on_kept: OnKept) -> NodeOutcome:
    await asyncio.Event().wait()
    raise AssertionError("the event is never set")


async def test_given_a_node_at_work_when_the_waiting_for_answers_breaks_then_it_is_heard_at_once() -> None:
    async def answers() -> Sequence[Pause]:
        raise LookupError("the question is gone")

    work = Work(_for_ever)
    work.start(NodeId("slow"))
    work.watch(answers)
    with pytest.raises(LookupError):
        await work.report()
    await work.stop()
