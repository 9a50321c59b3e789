"""The template node: fill in a text from the workspace, without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from pydantic import Field, field_validator

from flyback.domain.inputs import name_fault
from flyback.engine.nodes.base import Data, NodeConfig, NodeType, form
from flyback.engine.nodes.context import NodeContext


class TemplateConfig(NodeConfig):
    template: str = Field(
        default="",
        description="May name variables: `{{name}}`, `{{nodeId.name}}`.",
        json_schema_extra=form("Template", "模板", editor="template", help_zh="可引用变量。"),
    )
    output_name: str = Field(
        default="text",
        description="The name of the variable that it writes.",
        json_schema_extra=form("Output name", "输出变量名", editor="text", help_zh="写入的变量名。", advanced=True),
    )

    @field_validator("output_name")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        fault = name_fault(name) if name else None
        if fault is not None:
            raise ValueError(fault.message)
        return name or "text"


@final
class TemplateNode(
    NodeType[TemplateConfig],
    type="template",
    category="data",
    icon="text",
    title={"en": "Template", "zh-CN": "文本模板"},
    summary={"en": "Fills in a text from variables.", "zh-CN": "用变量填充一段文本。"},
    waits=False,
):
    async def execute(self, config: TemplateConfig, ctx: NodeContext) -> Data:
        return {config.output_name: ctx.render(config.template)}

    def written_names(self, config: TemplateConfig) -> Sequence[str]:
        return [config.output_name]

    def templates(self, config: TemplateConfig) -> Mapping[str, str]:
        return {"template": config.template}
