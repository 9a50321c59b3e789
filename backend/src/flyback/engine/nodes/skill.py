"""The skill node: one call of a skill folder's instructions, without tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from pydantic import Field

from flyback.engine.nodes.base import ModelChoice, NodeConfig, NodeResult, NodeType, form
from flyback.engine.nodes.context import NodeContext
from flyback.engine.skill_prompt import ask_skill, given_inputs


class SkillConfig(NodeConfig):
    agent_id: str = Field(
        min_length=1,
        description="The skill's folder.",
        json_schema_extra=form("Skill", "技能", editor="skill", help_zh="技能文件夹。"),
    )
    model: ModelChoice = None


@final
class SkillNode(
    NodeType[SkillConfig],
    type="skill",
    category="agent",
    icon="book",
    title={"en": "Skill", "zh-CN": "技能"},
    summary={"en": "Runs a skill in one call, without tools.", "zh-CN": "以一次调用执行技能，不使用工具。"},
):
    async def execute(self, config: SkillConfig, ctx: NodeContext) -> NodeResult:
        """Return the skill's declared outputs, else `text`.

        Raises:
            SkillNotFoundError: there is no such folder.
            NodeError: the model gave no answer, or one that cannot be read.
        """
        return await ask_skill(await ctx.skill(config.agent_id), config, config.model, "", ctx)

    def templates(self, config: SkillConfig) -> Mapping[str, str]:
        given = given_inputs(config)
        return {f"inputs.{name}": value for name, value in given.items() if isinstance(value, str)}
