"""The provider library's side of a call. Imported when the first call is made: it costs seconds.

A model object is made for each call, for its transport belongs to that one call; the connections are shared.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import assert_never, cast

import httpx2
from pydantic import JsonValue
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from flyback.domain.errors import NodeError
from flyback.domain.json_value import mend, mend_text
from flyback.domain.redaction import Redactor
from flyback.engine.ports import ChatRequest, Message, ToolCall, ToolSpec
from flyback.providers.chat.vendors import Endpoint, Protocol
from flyback.providers.chat.wire import Call, CallTransport
from flyback.providers.egress.guard import Guard
from flyback.providers.egress.wire import CheckedConnections
from flyback.providers.faults import fault_of_status, unavailable

_COMPATIBLE = OpenAIModelProfile(
    openai_chat_supports_max_completion_tokens=False,
    supports_json_schema_output=True,
)
"""What servers of OpenAI's protocol have in common: the older name of the token limit, and a schema for the answer."""

_NO_KEY = "none"
"""The libraries insist on a key; the transport takes it out again."""


def open_connections(guard: Guard) -> httpx2.AsyncBaseTransport:
    """Make the pool that all calls share. Reads the machine's certificates."""
    return CheckedConnections(guard, most=1000, keepalive=50)


def load(protocol: Protocol) -> None:
    """Import what a protocol needs."""
    if protocol == "openai":
        importlib.import_module("pydantic_ai.models.openai")
    elif protocol == "anthropic":
        importlib.import_module("pydantic_ai.models.anthropic")
    elif protocol == "google":
        importlib.import_module("pydantic_ai.models.google")
    else:
        assert_never(protocol)


def make_model(endpoint: Endpoint, connections: httpx2.AsyncBaseTransport, call: Call) -> Model:
    """Return the library's model for one call."""
    client = httpx2.AsyncClient(
        transport=CallTransport(connections, call),
        trust_env=False,
        follow_redirects=False,
        timeout=call.limits.total_seconds,
    )
    key = endpoint.api_key or _NO_KEY
    match endpoint.protocol:
        case "openai":
            return _openai(endpoint, key, client)
        case "anthropic":
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            anthropic = AnthropicProvider(api_key=key, base_url=endpoint.base_url, http_client=client)
            return AnthropicModel(endpoint.model, provider=anthropic)
        case "google":
            from pydantic_ai.models.google import GoogleModel
            from pydantic_ai.providers.google import GoogleProvider

            google = GoogleProvider(api_key=key, base_url=endpoint.base_url, http_client=client)
            return GoogleModel(endpoint.model, provider=google)


def _openai(endpoint: Endpoint, key: str, client: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    if endpoint.is_openai:
        openai = OpenAIProvider(base_url=endpoint.base_url, api_key=key, http_client=client)
        return OpenAIChatModel(endpoint.model, provider=openai)
    compatible = OpenAICompatibleProvider(
        "openai-compatible", base_url=endpoint.base_url, api_key=key, http_client=client
    )
    return OpenAIChatModel(endpoint.model, provider=compatible, profile=_COMPATIBLE)


@asynccontextmanager
async def open_stream(model: Model, request: ChatRequest, *, with_schema: bool) -> AsyncGenerator[StreamedResponse]:
    """Send the request and open its answer."""
    parameters = _parameters(model, request.schema if with_schema else None, request.tools)
    async with model.request_stream(_messages(request.messages), _settings(request), parameters) as response:
        yield response


async def texts_of(response: StreamedResponse) -> AsyncIterator[str]:
    """Yield the answer's text as it comes, without thinking."""
    async for event in response:
        match event:
            case PartStartEvent(part=TextPart(content=text)) if text:
                yield text
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                yield text
            case _:
                pass


def _settings(request: ChatRequest) -> ModelSettings:
    settings = ModelSettings(max_retries=0)
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    if request.max_tokens is not None:
        settings["max_tokens"] = request.max_tokens
    return settings


def tool_calls_of(response: StreamedResponse) -> list[ToolCall]:
    """Return the tools that the answer, which has ended, wants to be called."""
    parts = [part for part in response.get().parts if isinstance(part, ToolCallPart)]
    return [
        ToolCall(part.tool_call_id, part.tool_name, cast("dict[str, JsonValue]", mend(part.args_as_dict())[0]))
        for part in parts
    ]


def _parameters(
    model: Model, schema: Mapping[str, JsonValue] | None, tools: Sequence[ToolSpec]
) -> ModelRequestParameters:
    """Ask for a structured answer as message content, where the model can give it so."""
    if tools:
        told = [
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.schema))
            for tool in tools
        ]
        return ModelRequestParameters(function_tools=told)
    if schema is None or not model.profile.get("supports_json_schema_output", False):
        return ModelRequestParameters()
    answer = OutputObjectDefinition(json_schema=dict(schema), name="answer")
    return ModelRequestParameters(output_mode="native", output_object=answer)


def _messages(messages: Sequence[Message]) -> list[ModelMessage]:
    """Return the messages as the library's turns: what system and user say together is one request."""
    turns: list[ModelMessage] = []
    asked: list[ModelRequestPart] = []
    for message in messages:
        if message.role == "assistant":
            if asked:
                turns.append(ModelRequest(parts=asked))
                asked = []
            turns.append(ModelResponse(parts=_said(message)))
        elif message.role == "system":
            asked.append(SystemPromptPart(mend_text(message.text)))
        elif message.role == "tool":
            assert message.call_id is not None, "a result names its call"
            asked.append(ToolReturnPart(message.tool or "", mend_text(message.text), message.call_id))
        else:
            asked.append(UserPromptPart(mend_text(message.text)))
    return [*turns, ModelRequest(parts=asked)] if asked else turns


def _said(message: Message) -> list[ModelResponsePart]:
    parts: list[ModelResponsePart] = [
        ToolCallPart(call.name, dict(call.arguments), call.call_id) for call in message.tool_calls
    ]
    return [TextPart(mend_text(message.text)), *parts] if message.text or not parts else parts


def fault_in(model: str, error: Exception, redactor: Redactor) -> NodeError | None:
    """Return the engine's error in a library's exception; None for one that says only that the answer is not readable."""
    for cause in _causes(error):
        if isinstance(cause, NodeError):
            return cause
        if isinstance(cause, ValueError):  # JSON that is none
            return None
    if isinstance(error, ModelHTTPError):
        return fault_of_status(model, error.status_code, redactor.text(error.message))
    if isinstance(error, ModelAPIError):
        message = f"Model {model!r}: the provider broke off: {redactor.text(error.message)}"
        return unavailable(message, fix="Look at the provider's status.")
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        yield current
        seen.add(id(current))
        current = current.__cause__ or current.__context__
