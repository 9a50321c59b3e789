"""The hermes runtime: an agent that a Hermes in a child process works out, over our models, tools and record.

Every model call of Hermes comes up to here and goes through the engine like any other, so that it is metered, recorded and
made with the run's model. Our tools are called here too; Hermes' own ask before they begin. The conversation as Hermes
last had it is the whole state. A question parks the turn: the child is ended, and another one goes on with the answer. A
death is the same: the calls that have no result are made, ours by us and Hermes' own by the next child, and then it goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from flyback.domain.errors import AgentStepsError, NodeError, ToolDeniedError
from flyback.engine.ports import (
    CLARIFY,
    AgentEvents,
    AgentRequest,
    AgentTool,
    Final,
    Message,
    NeedsInput,
    ToolCall,
    ToolSpec,
)
from flyback.providers.agents.conversation import Conversation
from flyback.providers.agents.ending import Ending
from flyback.providers.agents.hermes.chat_form import completion, on_wire, read_messages, read_tools, tool_on_wire
from flyback.providers.agents.hermes.install import HermesInstall
from flyback.providers.agents.hermes.process import HermesProcess, Sentence, fault, hermes_process
from flyback.providers.agents.questions import ClarifyRefusedError, answers_by_call, questions_of
from flyback.providers.agents.tools import FINAL_ANSWER, final_tool

_MOST_CHILDREN = 4
_GO_ON = "Go on."
_GO_ON_CHINESE = "请继续。"


class HermesRuntime:
    def __init__(self, install: HermesInstall) -> None:
        self._install = install
        self._places = asyncio.Semaphore(_MOST_CHILDREN)
        """A Hermes takes a lot of memory: there are only so many at a time."""

    async def turn(self, request: AgentRequest, events: AgentEvents) -> Final | NeedsInput:
        talk = Conversation.begin(()) if request.state is None else Conversation.read(request.state)
        async with self._places:
            return await _Turn(self._install, request, events, talk).work()


class _EndedError(Exception):
    """The turn has its end, wherever it was found."""

    def __init__(self, done: Final | NeedsInput) -> None:
        super().__init__("the turn has ended")
        self.done = done


class _StartAgainError(Exception):
    """The child cannot go on from here: another one can, from the conversation."""


class _Turn:
    def __init__(self, install: HermesInstall, request: AgentRequest, events: AgentEvents, talk: Conversation) -> None:
        self._install = install
        self._request = request
        self._events = events
        self._talk = talk
        self._ending = Ending(request, talk)
        end = AgentTool(final_tool(request.outputs), _never)
        self._tools = {tool.spec.name: tool for tool in (*request.tools, end)}
        self._refusal = ""
        """Why the questions of the last answer could not be put to a person."""
        self._in_use: set[str] = set()
        """The calls of Hermes' own tools that have begun."""
        self._results: dict[str, str] = {}
        """What they gave, until it is taken up."""

    async def work(self) -> Final | NeedsInput:
        try:
            await self._take_answer()
            await self._make_open_calls()
            while True:
                await self._let_hermes_work()
        except _EndedError as ended:
            return ended.done

    # What an earlier turn has left.

    async def _take_answer(self) -> None:
        if self._request.answer is None:
            return
        asked = [call for call in self._talk.unanswered() if call.name == CLARIFY]
        for call, text in answers_by_call(asked, self._request.answer.said, chinese=self._request.chinese):
            self._talk.add_result(call, text)
        await self._keep()

    async def _make_open_calls(self) -> None:
        """Make those of our calls that have no result; Hermes' own are left to the next child."""
        for call in self._talk.unanswered():
            if call.name == FINAL_ANSWER:
                self._end_with(call)
                await self._keep()
            elif call.name in self._tools and call.name != CLARIFY:
                self._talk.add_result(call, await self._use(call.name, call.arguments))
                await self._keep()
        self._park_if_asked()

    # A child.

    async def _let_hermes_work(self) -> None:
        """Start a child on the conversation so far, until it ends. Raises _EndedError where the turn has its end."""
        async with hermes_process(self._install) as child:
            await child.say(self._task())
            try:
                while True:
                    await self._answer(child, await child.hear())
            except _StartAgainError:
                return

    def _task(self) -> Sentence:
        instructions = {message.role: message.text for message in self._request.instructions}
        history = list(self._talk.messages)
        said = instructions["user"]
        if history:
            said = _GO_ON_CHINESE if self._request.chinese else _GO_ON
            if history[-1].role == "user":
                said = history.pop().text
        return {
            "system": instructions.get("system", ""),
            "user": said,
            "history": on_wire(history),
            "pending": [
                {"callId": call.call_id, "name": call.name, "arguments": dict(call.arguments)}
                for call in self._talk.unanswered()
                if call.name not in self._tools
            ],
            "tools": [tool_on_wire(tool) for name, tool in self._tools.items() if name != CLARIFY],
            "toolsets": [*self._install.toolsets, *([CLARIFY] if CLARIFY in self._tools else [])],
            "maxSteps": self._request.max_steps + 1,
        }

    async def _answer(self, child: HermesProcess, said: Sentence) -> None:
        match said:
            case {"type": "model", "id": number, "messages": messages, "tools": tools}:
                await self._ask_model(child, number, read_messages(messages), read_tools(tools))
            case {"type": "tool", "id": number, "name": str(name), "arguments": dict(arguments)}:
                await child.say({"id": number, "text": await self._use_ours(name, arguments)})
                self._park_if_asked()
            case {"type": "begin", "id": number, "callId": str(call_id), "name": str(name), "arguments": arguments}:
                await self._use_own(child, number, ToolCall(call_id, name, _mapping(arguments)))
            case {"type": "used", "callId": str(call_id), "text": str(text)} if call_id in self._in_use:
                self._results[call_id] = text
            case {"type": "used", "callId": str(call_id), "text": str(text)}:
                await self._take_result(call_id, text)
            case {"type": "clarify", "id": number}:
                self._park(anyway=not self._refusal)
                await child.say({"id": number, "text": self._refusal})
            case {"type": "final", "text": str(text)}:
                self._end_in_words(text, said.get("error"))
            case _:
                raise fault(str(said.get("message", "it said what is not known here"))[:300])

    async def _ask_model(
        self, child: HermesProcess, number: JsonValue, messages: Sequence[Message], offered: Sequence[ToolSpec]
    ) -> None:
        """Make a model call for Hermes. One without our tools is none of the conversation: Hermes asks for itself."""
        if self._talk.steps >= self._request.max_steps:
            raise AgentStepsError(
                f"the agent has used up its {self._request.max_steps} steps",
                field="maxSteps",
                fix="Allow more steps, or give it less to do.",
            )
        is_ours = any(spec.name == FINAL_ANSWER for spec in offered)
        if is_ours:
            self._talk.messages = [message for message in messages if message.role != "system"]
        reply = await self._events.ask(messages, [self._spec(spec) for spec in offered])
        if is_ours:
            self._refusal = ""
            self._talk.add_reply(reply)
            self._park_if_asked()
            await self._keep()
        else:
            self._talk.steps += 1
        await child.say({"id": number, "completion": completion(reply, self._talk.steps)})

    def _spec(self, offered: ToolSpec) -> ToolSpec:
        ours = self._tools.get(offered.name)
        return offered if ours is None else ours.spec

    # Tools.

    async def _use_ours(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
        open_calls = [call for call in self._talk.unanswered() if call.name == name]
        same = [call for call in open_calls if call.arguments == arguments]
        call = next(iter(same or open_calls), None)
        if name == FINAL_ANSWER:
            self._end_with(call or ToolCall("", name, arguments))
            text = self._talk.messages[-1].text
        else:
            text = await self._use(name, arguments)
            if call is not None:
                self._talk.add_result(call, text)
        await self._keep()
        return text

    async def _use(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
        tool = self._tools.get(name)
        if tool is None:
            return f"Error: there is no tool {name!r}."
        try:
            return await tool.run(arguments)
        except NodeError as error:
            return f"Error: {error.message}"

    async def _use_own(self, child: HermesProcess, number: JsonValue, told: ToolCall) -> None:
        """Let Hermes use one of its own tools, on our record and under our approval."""
        call = next((call for call in self._talk.unanswered() if call.call_id == told.call_id), told)

        async def work() -> str:
            await child.say({"id": number})
            while call.call_id not in self._results:
                await self._answer(child, await child.hear())
            return self._results.pop(call.call_id)

        self._in_use.add(call.call_id)
        try:
            text = await self._events.use(call.name, call.arguments, work)
        except ToolDeniedError as denied:
            await self._take_result(call.call_id, f"Error: {denied.message}")
            await self._make_open_calls()
            raise _StartAgainError from denied
        await self._take_result(call.call_id, text)

    async def _take_result(self, call_id: str, text: str) -> None:
        """Take up what one of Hermes' own tools gave."""
        for call in self._talk.unanswered():
            if call.call_id == call_id:
                self._talk.add_result(call, text)
                await self._keep()
        self._park_if_asked()

    # Questions and the end.

    def _park_if_asked(self) -> None:
        """Raises _EndedError: it is a question's turn."""
        self._park(anyway=False)

    def _park(self, *, anyway: bool) -> None:
        waiting = self._talk.unanswered()
        asked = [call for call in waiting if call.name == CLARIFY and CLARIFY in self._tools]
        if not asked or (waiting[0].name != CLARIFY and not anyway):
            return
        try:
            raise _EndedError(NeedsInput(questions_of(asked), self._talk.on_wire()))
        except ClarifyRefusedError as refused:
            self._refusal = f"Error: {refused}"

    def _end_with(self, call: ToolCall) -> None:
        final = self._ending.of_call(call)
        if final is not None:
            raise _EndedError(final)

    def _end_in_words(self, text: str, error: JsonValue) -> None:
        """Raises _EndedError, or _StartAgainError where what is missing has to be asked for."""
        if not text.strip() and error:
            raise fault(str(error)[:300])
        final = self._ending.of_text(text, "stop")
        if final is None:
            raise _StartAgainError
        raise _EndedError(final)

    async def _keep(self) -> None:
        await self._events.keep(self._talk.on_wire())


def _mapping(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}


async def _never(_arguments: Mapping[str, JsonValue]) -> str:
    raise AssertionError("the end of the work is no tool that runs")
