"""The builtin agent runtime: a model, its tools, and a loop until it gives its answer or has a question.

The conversation is the whole state, in a form of our own, so that it outlives any library: it stands in the question that
a person answers days later, and in the journal from which another process goes on. Each finished model call and each
finished tool call is kept before the next thing is done, and a call whose result is in the conversation is not made again.
"""

from __future__ import annotations

from flyback.domain.errors import AgentStepsError, NodeError
from flyback.engine.ports import (
    CLARIFY,
    AgentEvents,
    AgentRequest,
    ChatReply,
    Final,
    NeedsInput,
    ToolCall,
    ToolSpec,
)
from flyback.providers.agents.conversation import Conversation
from flyback.providers.agents.ending import Ending
from flyback.providers.agents.questions import ClarifyRefusedError, answers_by_call, questions_of
from flyback.providers.agents.tools import FINAL_ANSWER, final_tool


class BuiltinRuntime:
    async def turn(self, request: AgentRequest, events: AgentEvents) -> Final | NeedsInput:
        talk = Conversation.begin(request.instructions) if request.state is None else Conversation.read(request.state)
        return await _Turn(request, events, talk).work()


class _Turn:
    def __init__(self, request: AgentRequest, events: AgentEvents, talk: Conversation) -> None:
        self._request = request
        self._events = events
        self._talk = talk
        self._ending = Ending(request, talk)
        self._tools = {tool.spec.name: tool for tool in request.tools}
        self._specs: list[ToolSpec] = [*(tool.spec for tool in request.tools), final_tool(request.outputs)]

    async def work(self) -> Final | NeedsInput:
        if self._request.answer is not None:
            for call, text in answers_by_call(
                self._talk.unanswered(), self._request.answer.said, chinese=self._request.chinese
            ):
                self._talk.add_result(call, text)
            await self._keep()
        while True:
            done = await self._work_off()
            if done is not None:
                return done
            reply = await self._ask()
            if not reply.tool_calls:
                final = self._ending.of_text(reply.text, reply.finish_reason)
                if final is not None:
                    return final

    async def _ask(self) -> ChatReply:
        if self._talk.steps >= self._request.max_steps:
            raise AgentStepsError(
                f"the agent has used up its {self._request.max_steps} steps",
                field="maxSteps",
                fix="Allow more steps, or give it less to do.",
            )
        reply = await self._events.ask(self._talk.messages, self._specs)
        self._talk.add_reply(reply)
        if reply.tool_calls and not self._only_asks(reply):
            await self._keep()
        return reply

    def _only_asks(self, reply: ChatReply) -> bool:
        """A question is stored with the pause that it becomes, and an answer with the end of the visit."""
        return all(call.name in (CLARIFY, FINAL_ANSWER) for call in reply.tool_calls)

    async def _work_off(self) -> Final | NeedsInput | None:
        """Make the calls that the model asked for and that have no result yet; None where it is its turn again."""
        for call in self._talk.unanswered():
            if call.name == FINAL_ANSWER:
                final = self._ending.of_call(call)
                if final is not None:
                    return final
            elif call.name != CLARIFY or CLARIFY not in self._tools:
                self._talk.add_result(call, await self._use(call))
                await self._keep()
        asked = self._talk.unanswered()
        if not asked:
            return None
        try:
            return NeedsInput(questions_of(asked), self._talk.on_wire())
        except ClarifyRefusedError as refused:
            for call in asked:
                self._talk.add_result(call, f"Error: {refused}")
            await self._keep()
            return None

    async def _use(self, call: ToolCall) -> str:
        tool = self._tools.get(call.name)
        if tool is None:
            names = ", ".join(sorted(self._tools))
            return f"Error: there is no tool {call.name!r}. The tools are: {names}."
        try:
            return await tool.run(call.arguments)
        except NodeError as error:
            return f"Error: {error.message}"

    async def _keep(self) -> None:
        await self._events.keep(self._talk.on_wire())
