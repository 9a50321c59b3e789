"""How the embedded model is asked: examples of judging a statement, then the text and the statement at hand.

The examples and the text come first and never change between the statements, so that they are read once. A model's
control marks in a text are broken up: what a person or another model wrote can't end its turn.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from flyback.engine.ports import Message

YES = ("yes",)
NO = ("no",)

ChatTurns = list[JsonValue]

_TASK = "Decide whether the statement is true for the text. Answer yes or no."
_BREAD = "Task: Bake bread for tomorrow\nPlanned next step: Sell the bread\nLatest result: "
_RAW = _BREAD + "The bread is still raw inside."
_GOOD = _BREAD + "The bread has a golden crust and tastes good."
_FLAT = """\
Task: Rent out the flat in Mill Lane
- applicant__text: Ms Hill, nurse
Planned next step: Sign the contract
Latest result: The contract cannot be written yet: nobody knows what she earns."""
_SAMPLES = "任务：给客户寄样品\n计划的下一步：寄出包裹\n最新结果："
_PACKED = _SAMPLES + "包裹重2公斤，已经包好。"
_ONE_MORE = _SAMPLES + "客户说还要多放一个样品。"
_CAR = "任务：修理客户的汽车\n- 检查__text: 刹车片磨损\n计划的下一步：试车\n最新结果："
_REPAIRED = _CAR + "新刹车片已装好。"
_TOO_DEAR = _CAR + "费用超过预算，要先得到客户同意。"
_EXAMPLES: Sequence[tuple[str, str, str]] = (
    (_RAW, "the next step must be: Puts the dough into the oven", "yes"),
    (_RAW, "the next step must be: Sell the bread", "no"),
    (_GOOD, "the next step must be: Bake", "no"),
    (_GOOD, "the next step must be: Sell the bread", "yes"),
    ("The train was late again and nobody said sorry.", "the writer praises the railway", "no"),
    (_FLAT, "the next step must be: Asks for a pay slip", "yes"),
    (_FLAT, "the next step must be: Sign the contract", "no"),
    (_FLAT, "the next step must be: Meets applicants in the flat", "no"),
    (_PACKED, "下一步必须是：寄出包裹", "yes"),
    (_PACKED, "下一步必须是：把样品装进箱子", "no"),
    (_ONE_MORE, "下一步必须是：寄出包裹", "no"),
    (_ONE_MORE, "下一步必须是：打包", "yes"),
    ("请问你们周末营业吗？", "用户在询问营业时间", "yes"),
    (_REPAIRED, "下一步必须是：把车还给客户", "no"),
    (_REPAIRED, "下一步必须是：上路检验", "yes"),
    (_TOO_DEAR, "下一步必须是：试车", "no"),
    (_TOO_DEAR, "下一步必须是：联系客户", "yes"),
)
"""Text, statement and answer: going on, going back, a jump, in both languages, and statements about plain texts."""


def chat_turns(messages: Sequence[Message]) -> ChatTurns:
    """Return the messages of an ordinary call."""
    return [_turn(message.role, message.text) for message in messages]


def statement_turns(text: str, claim: str) -> ChatTurns:
    """Return the question whether a claim is true of a text. The answer's first word is the judgement."""
    return [*_preamble(), _turn("user", f"Text: {text}\nStatement: {claim}")]


def decision_turns(messages: Sequence[Message]) -> ChatTurns:
    """Return the messages of a question about a text that was judged before: its first message."""
    text, *rest = messages
    asked = "\n".join(message.text for message in rest)
    return [*_preamble(), _turn("user", f"Text: {text.text}\n{asked}")]


def _preamble() -> ChatTurns:
    turns = [_turn("system", _TASK)]
    for text, claim, answer in _EXAMPLES:
        turns += [_turn("user", f"Text: {text}\nStatement: {claim}"), _turn("assistant", answer)]
    return turns


def _turn(role: str, text: str) -> JsonValue:
    return {"role": role, "content": text.replace("<|", "< |")}
