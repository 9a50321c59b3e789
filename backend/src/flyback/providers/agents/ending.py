"""How an agent's work ends: with a call of `final_answer`, or in words where it declares no outputs."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from flyback.domain.errors import ModelEmptyError, ModelUnreadableError
from flyback.domain.lenient_json import find_objects
from flyback.domain.schema import FieldsUnreadableError, read_fields, unpacked
from flyback.domain.template import as_text
from flyback.engine.ports import AgentRequest, Final, ToolCall
from flyback.providers.agents.conversation import Conversation
from flyback.providers.agents.tools import RESPONSE

_REQUIREMENTS = "newRequirements"
_NO_WISH = frozenset({"", "none", "none.", "n/a", "null", "无", "无。", "没有", "没有。"})
"""What is said where a list is to be empty."""
_MOST_UNREADABLE = 2
"""Answers that do not hold what was asked for, before the work has failed."""


class Ending:
    """Reads what may be the end. What is none is put into the conversation, for the model to mend."""

    def __init__(self, request: AgentRequest, talk: Conversation) -> None:
        self._request = request
        self._talk = talk

    def of_call(self, call: ToolCall) -> Final | None:
        """Read a call of `final_answer`. Raises ModelUnreadableError: it was unreadable too often."""
        try:
            return self._final(call.arguments)
        except FieldsUnreadableError as error:
            self._note_unreadable(str(error))
            self._talk.add_result(call, f"Error: {error}")
            return None

    def of_text(self, said: str, finish_reason: str) -> Final | None:
        """Read an answer in words: it is the response itself, unless it holds the fields of one.

        Raises:
            ModelEmptyError: it is empty.
            ModelUnreadableError: it was unreadable too often.
        """
        text = said.rpartition("</think>")[2].strip()
        if not text:
            raise ModelEmptyError(
                "the model gave an empty answer" + (": its token limit was used up" * (finish_reason == "length")),
                field="maxTokens",
                fix="Allow more tokens, or choose another model.",
            )
        for found in reversed(find_objects(text)):
            if RESPONSE in found.value:
                try:
                    return self._final(found.value)
                except FieldsUnreadableError:
                    break
        if not self._request.outputs:
            return self._final({RESPONSE: text})
        self._note_unreadable("it is no call of final_answer with every declared output")
        self._talk.add_user(
            "请调用 final_answer，并给出每一个声明的输出。"
            if self._request.chinese
            else "Call final_answer, with every declared output."
        )
        return None

    def _final(self, given: Mapping[str, JsonValue]) -> Final:
        """Raises FieldsUnreadableError: a declared output, or the response, is missing."""
        response = given.get(RESPONSE)
        if not isinstance(response, str):
            raise FieldsUnreadableError(f"the field {RESPONSE!r} is missing")
        outputs = read_fields(self._request.outputs, given)
        return Final(response, _wishes(given.get(_REQUIREMENTS)), outputs, self._talk.used_tools())

    def _note_unreadable(self, why: str) -> None:
        self._talk.unreadable += 1
        if self._talk.unreadable > _MOST_UNREADABLE:
            raise ModelUnreadableError(
                f"the agent's answer cannot be used: {why}",
                fix="Say in the instruction what each output is, or choose a stronger model.",
            )


def _wishes(said: JsonValue) -> list[str]:
    """Read the list of new requirements. None is to be lost, so that one alone, or one that is no text, is one too."""
    listed = unpacked(said, "[")
    found = listed if isinstance(listed, list) else [listed]
    wishes = [as_text(wish).strip() for wish in found if wish and wish is not True]
    return [wish for wish in wishes if wish.casefold() not in _NO_WISH]
