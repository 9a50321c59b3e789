"""The note: drawn for people, never run."""

from __future__ import annotations

from typing import final

from pydantic import Field

from flyback.domain.errors import ConfigInvalidError
from flyback.engine.nodes.base import Data, NodeConfig, NodeType, form
from flyback.engine.nodes.context import NodeContext


class NoteConfig(NodeConfig):
    text: str = Field(
        default="",
        description="Shown on the canvas.",
        json_schema_extra=form("Text", "文字", editor="longText", help_zh="显示在画布上。"),
    )


@final
class NoteNode(
    NodeType[NoteConfig],
    type="note",
    category="drawing",
    icon="note",
    title={"en": "Note", "zh-CN": "便签"},
    summary={"en": "A remark on the canvas; it is never run.", "zh-CN": "画布上的备注，不会执行。"},
    runs=False,
    waits=False,
):
    async def execute(self, config: NoteConfig, ctx: NodeContext) -> Data:
        raise ConfigInvalidError(f"node {ctx.node.id!r} is a note, and notes are never run", node=ctx.node.id)
