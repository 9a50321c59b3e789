"""What runs ask people, and the answers."""

from __future__ import annotations

from typing import Literal

from fastapi import Response

from flyback.api.deps import All, Caller
from flyback.api.json_body import JsonAnswer, list_answer, router
from flyback.api.wire.runs import Pause, PauseAnswerGiven, PauseList
from flyback.domain.answering import Given

routes = router(prefix="/api", tag="runs")


@routes.get("/runs/{run_id}/pauses", response_model=PauseList)
async def list_run_pauses(run_id: str, caller: Caller, services: All) -> Response:
    """What a run has asked people."""
    return list_answer(await services.run_views.run_pauses(caller, run_id))


@routes.get("/pauses", response_model=PauseList)
async def list_pauses(
    caller: Caller,
    services: All,
    status: Literal["open", "answered", "expired", "cancelled"] | None = None,
) -> Response:
    """The inbox: what waits for a person over all runs, oldest first."""
    return list_answer(await services.run_views.pauses(caller, status=status.upper() if status is not None else None))


@routes.get("/pauses/{pause_id}", response_model=Pause)
async def read_pause(pause_id: str, caller: Caller, services: All) -> Response:
    """One question to a person, as it is by now."""
    return JsonAnswer(await services.run_views.pause(caller, pause_id))


@routes.post("/pauses/{pause_id}/answer", response_model=Pause)
async def answer_pause(pause_id: str, body: PauseAnswerGiven, caller: Caller, services: All) -> Response:
    """Answer a question, or say whether a tool may run. The same again is as good as once; another answer is refused and shown the first."""
    return JsonAnswer(await services.runs.answer(caller, pause_id, _given(body)))


@routes.post("/runs/{run_id}/resume", response_model=Pause)
async def resume_run(run_id: str, body: PauseAnswerGiven, caller: Caller, services: All) -> Response:
    """Answer the only open question of a run; where several wait they are listed."""
    return JsonAnswer(await services.runs.answer_only(caller, run_id, _given(body)))


def _given(body: PauseAnswerGiven) -> Given:
    return Given([(one.question_id, one.value) for one in body.answers], body.answer, body.action)
