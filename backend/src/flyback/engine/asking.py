"""Asking a model for a node's output: a text, or the fields that were declared.

Fields are asked for and read as message content: the provider constrains the answer to the schema where it can, the prompt
says it too, and what comes back is read leniently. What cannot be read is a fault that can pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from flyback.domain.errors import BadJsonError, ModelEmptyError, ModelUnreadableError
from flyback.domain.json_value import dumps
from flyback.domain.lenient_json import find_objects, is_unfinished_thinking, read_value, without_thinking
from flyback.domain.schema import FieldsUnreadableError, OutputFieldLike, output_schema, read_answer
from flyback.engine.nodes.base import NodeResult
from flyback.engine.nodes.context import NodeContext
from flyback.engine.ports import ChatModel, ChatReply, Message

_CUT_OFF = "length"
_WITHHELD = "content_filter"
_CUT = (_CUT_OFF, _WITHHELD)
"""Why an answer may end before it is done."""


async def ask_for_text(
    ctx: NodeContext,
    model: ChatModel,
    system: str,
    user: str,
    *,
    temperature: float | None = None,
    max_tokens: int | None = None,
) -> NodeResult:
    """Return `text`, the answer without thinking before it; text that was cut is kept and marked.

    Raises:
        ModelEmptyError: the answer was cut before there was any text.
    """
    reply = await ctx.ask(model, messages(system, user), temperature=temperature, max_tokens=max_tokens)
    text = without_thinking(reply.text)
    _refuse_empty(ctx, model, text, reply)
    return NodeResult({"text": text}, meta=_cut_mark(reply))


async def ask_for_fields(
    ctx: NodeContext,
    model: ChatModel,
    system: str,
    user: str,
    wanted: Sequence[OutputFieldLike] | Mapping[str, JsonValue],
    *,
    temperature: float | None = None,
    max_tokens: int | None = None,
) -> NodeResult:
    """Return the fields of the object that the model answered with. `wanted` are declared fields, or a JSON schema.

    Raises:
        ModelEmptyError: the answer was cut before there was any text.
        ModelUnreadableError: the answer holds no such object.
    """
    schema = wanted if isinstance(wanted, Mapping) else output_schema(wanted)
    asked = messages(_with_schema(system, schema, chinese=ctx.chinese), user)
    reply = await ctx.ask(model, asked, temperature=temperature, max_tokens=max_tokens, schema=schema)
    _refuse_empty(ctx, model, without_thinking(reply.text), reply)
    try:
        read = _read_object(reply.text, wanted) if isinstance(wanted, Mapping) else read_answer(wanted, reply.text)
    except FieldsUnreadableError as error:
        cut = " (the token limit cut it)" if reply.finish_reason == _CUT_OFF else ""
        raise ModelUnreadableError(
            f"the answer of model {model.name!r}{cut} cannot be read, {error}: {_excerpt(reply.text)}",
            node=ctx.node.id,
            fix="Say in the prompt what each output is, allow more tokens, or choose a stronger model.",
        ) from error
    fields, notes = read
    meta = dict(_cut_mark(reply))
    if notes:
        meta["mended"] = list(notes)
    return NodeResult(fields, meta=meta)


def messages(system: str, user: str) -> list[Message]:
    """Return the prompt: the system part where there is one, then what the user says."""
    asked = [Message("system", system)] if system.strip() else []
    if user.strip() or not asked:
        asked.append(Message("user", user))
    return asked


def _with_schema(system: str, schema: Mapping[str, JsonValue], *, chinese: bool) -> str:
    say = (
        "只回答一个符合以下 JSON Schema 的 JSON 对象，不要有其他内容："
        if chinese
        else "Answer with one JSON object that fits this JSON schema, and nothing else:"
    )
    return "\n\n".join(part for part in (system.strip(), f"{say}\n{dumps(dict(schema))}") if part)


def _read_object(text: str, schema: Mapping[str, JsonValue]) -> tuple[Mapping[str, JsonValue], Sequence[str]]:
    """The last object of the answer that has every required field; a schema of no object takes the whole answer."""
    if schema.get("type", "object") != "object":
        return _read_value(text)
    required = schema.get("required")
    names = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set[str]()
    found = find_objects(text)
    for candidate in reversed(found):
        if names <= candidate.value.keys():
            return candidate.value, candidate.notes
    if not found:
        raise FieldsUnreadableError("the answer holds no JSON object")
    missing = ", ".join(repr(name) for name in sorted(names - found[-1].value.keys()))
    raise FieldsUnreadableError(f"it lacks {missing}")


def _read_value(text: str) -> tuple[Mapping[str, JsonValue], Sequence[str]]:
    try:
        value, notes = read_value(text)
    except BadJsonError as error:
        raise FieldsUnreadableError(error.message) from error
    return {"result": value}, notes


def _refuse_empty(ctx: NodeContext, model: ChatModel, text: str, reply: ChatReply) -> None:
    if reply.finish_reason not in _CUT or (text.strip() and not is_unfinished_thinking(text)):
        return
    if reply.finish_reason == _WITHHELD:
        raise ModelEmptyError(
            f"model {model.name!r} gave an empty answer: its provider's filter held it back "
            "(finish reason 'content_filter')",
            node=ctx.node.id,
            fix="Look at what was sent, and ask otherwise or choose another model.",
        )
    raise ModelEmptyError(
        f"model {model.name!r} gave an empty answer: its token limit was used up before any text came "
        "(finish reason 'length')",
        node=ctx.node.id,
        field="maxTokens",
        fix="Raise the node's token limit or the run's budget; a model that thinks needs room for it.",
    )


def _cut_mark(reply: ChatReply) -> Mapping[str, JsonValue]:
    return {"finishReason": reply.finish_reason, "cut": True} if reply.finish_reason in _CUT else {}


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= 200 else line[:199] + "…")
