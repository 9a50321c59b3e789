"""The tool node: one call of one MCP tool, with arguments that the drawing gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from pydantic import Field, JsonValue

from flyback.domain.errors import BadJsonError, ConfigInvalidError
from flyback.domain.json_value import loads_mended
from flyback.engine.given import texts_in
from flyback.engine.nodes.base import Data, NodeType, form
from flyback.engine.nodes.context import NodeContext
from flyback.engine.nodes.person import ApprovedConfig


class ToolConfig(ApprovedConfig):
    server: str = Field(
        min_length=1,
        description="The name of an MCP server.",
        json_schema_extra=form("Server", "服务器", editor="mcpServer", help_zh="MCP 服务器的名称。"),
    )
    tool: str = Field(
        min_length=1,
        description="The tool's own name there.",
        json_schema_extra=form("Tool", "工具", editor="mcpTool", help_zh="工具在该服务器上的名称。"),
    )
    arguments: dict[str, JsonValue] | str = Field(
        default_factory=dict[str, JsonValue],
        description="A JSON object; may name variables. A text that is one reference becomes its value.",
        json_schema_extra=form("Arguments", "参数", editor="json", help_zh="JSON 对象，可引用变量。"),
    )


@final
class ToolNode(
    NodeType[ToolConfig],
    type="tool",
    category="data",
    icon="tool",
    title={"en": "Tool", "zh-CN": "工具调用"},
    summary={"en": "Calls a tool of an MCP server once.", "zh-CN": "调用一次 MCP 服务器上的工具。"},
):
    async def execute(self, config: ToolConfig, ctx: NodeContext) -> Data:
        """Return `{"text": str, "json": JSON or null}`.

        Raises:
            PersonNeededError: a person is asked whether it may run.
            ToolDeniedError, AnswerTimeoutError: it may not, or nobody said so in time.
            NodeError: what `Tools.call` raises; the tool's own failure is a ToolFailedError.
        """
        config.settle(ctx)
        arguments = ctx.filled(_written(config.arguments))
        if not isinstance(arguments, dict):
            raise ConfigInvalidError(
                "the arguments of a tool are a JSON object", field="arguments", fix='Write {"name": "value"}.'
            )
        answer = await ctx.use_tool(config.server, config.tool, arguments)
        if answer.mended:
            ctx.note("mended", list(answer.mended))
        return {"text": answer.text, "json": answer.json}

    def written_names(self, config: ToolConfig) -> Sequence[str]:
        return ["text", "json"]

    def templates(self, config: ToolConfig) -> Mapping[str, str]:
        return dict(texts_in("arguments", _written(config.arguments)))


def _written(arguments: dict[str, JsonValue] | str) -> JsonValue:
    """An object that was written as text is filled in as an object."""
    if not isinstance(arguments, str):
        return arguments
    if not arguments.strip():
        return {}
    try:
        return loads_mended(arguments)[0]
    except BadJsonError:
        return arguments
