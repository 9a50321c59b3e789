"""Reading what a person answers, and what it does to a pause: an answer counts once, and the first one stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast

from pydantic import JsonValue

from flyback.domain.errors import Fault, InputInvalidError, PauseAnsweredError, PauseClosedError
from flyback.domain.inputs import read_variables
from flyback.domain.json_value import mend
from flyback.domain.pause import ANSWER, APPROVE, CANCEL, DENY, SKIP, Ask, Pause, PauseStatus, Question, Reply
from flyback.domain.wire import time_on_wire


@dataclass(frozen=True, slots=True)
class Given:
    """What came through a door as an answer, not yet looked at."""

    answers: Sequence[tuple[str, JsonValue]] = ()
    """Question to value."""
    answer: JsonValue = None
    """In place of `answers` where there is one question."""
    action: str | None = None


def read_reply(ask: Ask, given: Given) -> Reply:
    """Read an answer to a pause. Raises InputInvalidError with everything that does not fit."""
    action = _action(ask, given.action)
    values = _values_by_question(ask, given)
    if ask.kind == "form":
        return Reply(_form_values(ask, values), action)
    if action == SKIP:
        return Reply({}, action)
    faults: list[Fault] = []
    read: dict[str, JsonValue] = {}
    for question in ask.questions:
        value = values.get(question.id)
        if value is None and ask.kind == "approval":
            continue
        said = _said(question, value)
        if said is None:
            faults.append(_unanswered(question))
        else:
            read[question.id] = said
    _refuse(faults)
    return Reply(read, action)


def answered(pause: Pause, given: Given, *, by: str, now: datetime) -> Pause:
    """Return the pause with this answer; the pause itself where the very same was said before.

    Raises:
        PauseAnsweredError: something else was said before; it shows what.
        PauseClosedError: nobody waits for an answer any more.
        InputInvalidError: the answer does not fit the question.
    """
    if pause.status is PauseStatus.ANSWERED:
        return _again(pause, given)
    if pause.status is not PauseStatus.OPEN or has_expired(pause, now):
        closed = "was cancelled" if pause.status is PauseStatus.CANCELLED else "has expired"
        raise PauseClosedError(
            f"The question {closed}.", node=pause.node_id, fix="Look at the run: it has gone on without an answer."
        )
    return replace(
        pause, status=PauseStatus.ANSWERED, reply=read_reply(pause.ask, given), answered_by=by, answered_at=now
    )


def has_expired(pause: Pause, now: datetime) -> bool:
    """Whether an open pause has been waited for long enough."""
    return pause.status is PauseStatus.OPEN and pause.expires_at is not None and pause.expires_at <= now


def _again(pause: Pause, given: Given) -> Pause:
    first = pause.reply or Reply()
    try:
        same = read_reply(pause.ask, given).same_as(first)
    except InputInvalidError:
        same = False
    if same:
        return pause
    current: dict[str, JsonValue] = {
        "answers": first.on_wire(),
        "action": first.action,
        "answeredBy": pause.answered_by,
        "answeredAt": time_on_wire(pause.answered_at) if pause.answered_at else None,
    }
    raise PauseAnsweredError(
        f"The question was answered already, by {pause.answered_by or 'somebody'}.",
        current=current,
        fix="The first answer stays. Say what else you want where the run asks next.",
    )


def _action(ask: Ask, wanted: str | None) -> str | None:
    match ask.kind:
        case "question":
            allowed, usual = [ANSWER, SKIP], ANSWER
        case "approval":
            allowed, usual = [APPROVE, DENY], None
        case "form" | "subRun":
            allowed = [action.id for action in ask.actions]
            usual = allowed[0] if len(allowed) == 1 else None
    action = wanted or usual
    if action in allowed or (action is None and not allowed):
        return action
    names = ", ".join(repr(name) for name in [*allowed, CANCEL])
    what = "An action is needed." if action is None else f"{action[:100]!r} is not an action of this question."
    raise InputInvalidError(what, field="action", fix=f"Send one of {names}.")


def _values_by_question(ask: Ask, given: Given) -> dict[str, JsonValue]:
    known = {question.id for question in ask.questions}
    values: dict[str, JsonValue] = {}
    faults: list[Fault] = []
    for place, (question_id, value) in enumerate(given.answers):
        if question_id not in known:
            fix = f"The questions are {', '.join(repr(name) for name in sorted(known)) or 'none'}."
            faults.append(Fault(f"There is no question {question_id[:100]!r}.", field=f"answers.{place}", fix=fix))
        elif question_id in values:
            faults.append(Fault(f"Question {question_id!r} is answered twice.", field=f"answers.{place}"))
        else:
            values[question_id] = mend(value)[0]
    _refuse(faults)
    if given.answer is None:
        return values
    if len(ask.questions) != 1 or values:
        raise InputInvalidError(
            f"'answer' answers a single question, and here are {len(ask.questions)}.",
            field="answer",
            fix="Send 'answers': [{questionId, value}, …].",
        )
    return {ask.questions[0].id: mend(given.answer)[0]}


def _form_values(ask: Ask, values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    variables = [question.variable for question in ask.questions if question.variable is not None]
    # Null would take the default, which a form shows already filled in: who empties a field means it.
    read = read_variables([replace(one, default=None) if one.name in values else one for one in variables], values)
    faults = list(read.faults)
    faults += [Fault(f"{name!r} is required.", field=name, fix="Give it a value.") for name in read.missing]
    _refuse(faults)
    return dict(read.values)


def _said(question: Question, value: JsonValue) -> JsonValue:
    """The answer as text, or as a list of texts where several may be chosen; None where it is neither."""
    if isinstance(value, list) and question.multi:
        texts = [_text(item) for item in value]
        return None if not texts or None in texts else cast("JsonValue", texts)
    text = _text(value)
    return [text] if text is not None and question.multi else text


def _text(value: JsonValue) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return value if isinstance(value, str) and value.strip() else None


def _unanswered(question: Question) -> Fault:
    wanted = "a text or a list of texts" if question.multi else "a text"
    return Fault(f"Question {question.id!r} needs {wanted}.", field=question.id, fix=f"Send {wanted}.")


def _refuse(faults: Sequence[Fault]) -> None:
    if faults:
        message = " ".join(fault.message for fault in faults)
        raise InputInvalidError(message, field=faults[0].field, fix=faults[0].fix, faults=faults)
