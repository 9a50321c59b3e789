"""The agent node: a skill's instructions worked through on a task. It asks a person nothing, save whether a tool may run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from pydantic import Field

from flyback.domain.pause import Ask
from flyback.engine.agents import BUILTIN, AgentWork, let_work, server_tools, tool_calls_of
from flyback.engine.nodes.base import ModelChoice, NodeResult, NodeType, form
from flyback.engine.nodes.context import NodeContext
from flyback.engine.nodes.person import AgentLimits
from flyback.engine.ports import Skill, SkillField
from flyback.engine.skill_prompt import ask_skill, given_inputs, user_message
from flyback.engine.skill_tools import allowed_by, inside_tools, opened


class AgentConfig(AgentLimits):
    agent_id: str = Field(
        min_length=1,
        description="The skill's folder.",
        json_schema_extra=form("Skill", "技能", editor="skill", help_zh="技能文件夹。"),
    )
    agent_name: str = Field(
        default="",
        description="The skill's name, as shown on the canvas.",
        json_schema_extra=form("Name", "智能体名称", editor="text", help_zh="显示在画布上的名称。", advanced=True),
    )
    model: ModelChoice = None
    task: str = Field(
        default="",
        description="What it is to do; may name variables. Empty: its inputs, else what leads here.",
        json_schema_extra=form("Task", "任务", editor="template", help_zh="可引用变量；为空时取输入或通向此处的内容。"),
    )
    tools: list[str] | None = Field(
        default=None,
        description="The tools it may use.",
        json_schema_extra=form("Tools", "工具", editor="tools", help_zh="可以使用的工具。", advanced=True),
    )


@final
class AgentNode(
    NodeType[AgentConfig],
    type="agent",
    category="agent",
    icon="robot",
    title={"en": "Agent", "zh-CN": "智能体"},
    summary={"en": "Works on a task as a skill says.", "zh-CN": "按技能说明完成一项任务。"},
):
    async def execute(self, config: AgentConfig, ctx: NodeContext) -> NodeResult:
        """Return the skill's declared outputs, else `text`.

        A skill that brings files, or a node that names tools, is worked on step by step.

        Raises:
            SkillNotFoundError: there is no such folder.
            NodeError: the model gave no answer, or one that cannot be read.
        """
        skill = await ctx.skill(config.agent_id)
        task = ctx.render(config.task)
        if ctx.agent_runtime(BUILTIN) is None or not (config.tools or skill.files):
            return await ask_skill(skill, config, config.model, task, ctx)
        return await self._work(skill, config, task, ctx)

    async def _work(self, skill: Skill, config: AgentConfig, task: str, ctx: NodeContext) -> NodeResult:
        work = AgentWork(
            system=opened(skill, chinese=ctx.chinese),
            user=user_message(skill, config, task, ctx),
            model=config.model,
            tools=[
                *inside_tools([skill], ctx),
                *await server_tools((), config.tools or (), ctx, only=allowed_by([skill])),
            ],
            outputs=skill.outputs or [SkillField(one.name, one.type, one.description) for one in config.outputs or ()],
            max_steps=config.max_steps,
            max_tokens=config.max_tokens,
            total_tokens=config.total_tokens,
            terms=config.terms.and_before(*skill.approval),
        )
        done = await let_work(work, ctx)
        assert not isinstance(done, Ask), "an agent without the tool for it never asks"
        outputs = done.outputs or {"text": done.final_response}
        return NodeResult(outputs, meta=tool_calls_of(done))

    def templates(self, config: AgentConfig) -> Mapping[str, str]:
        given = given_inputs(config)
        return {"task": config.task} | {
            f"inputs.{name}": value for name, value in given.items() if isinstance(value, str)
        }
