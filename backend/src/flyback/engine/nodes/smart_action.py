"""The smartAction node: a full agent with tools, which asks the person where it must.

It ends with its answer and with what the person asked for in this visit and it has not done. Such a wish is put at the
start of the answer, so that whoever reads on, the planner first of all, cannot miss it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, final

from pydantic import Field, JsonValue

from flyback.domain.pause import Ask
from flyback.engine.agents import AgentWork, clarify_tool, let_work, server_tools, tool_calls_of
from flyback.engine.nodes.base import ModelChoice, NodeResult, NodeType, form
from flyback.engine.nodes.context import NodeContext
from flyback.engine.nodes.person import AgentLimits
from flyback.engine.ports import Final, Skill, SkillField
from flyback.engine.skill_tools import allowed_by, catalogue, opening_tools
from flyback.engine.told import told_after, what_a_visit_is_told

FINAL_RESPONSE = "final_response"
NEW_REQUIREMENTS = "newRequirements"
"""The signal that holds what the person wants besides."""

_NEW = "The user has a new requirement: "
_NEW_CHINESE = "用户有新的需求："
_HOW = (
    "You are an agent at one step of a workflow. Do what the instruction says, with your tools where they help. "
    "Ask the person with the tool `clarify` where you cannot go on without them. "
    "When you are done, call `final_answer`: your answer as `final_response`, and as `newRequirements` whatever the person "
    "asked for that you have not done. Other steps of the workflow will see to these."
)
_HOW_CHINESE = (
    "你是工作流中一个步骤上的智能体。请按指令完成工作，必要时使用工具。"
    "没有用户的信息就无法继续时，用 `clarify` 工具询问用户。"
    "完成后调用 `final_answer`：`final_response` 为你的回答；`newRequirements` 列出用户提出而你没有完成的要求，"
    "它们会由工作流的其他步骤处理。"
)


class SmartActionConfig(AgentLimits):
    runtime: Literal["builtin", "hermes"] = Field(
        default="builtin",
        description="What the agent runs on.",
        json_schema_extra=form("Runtime", "运行时", help_zh="智能体的运行方式。", advanced=True),
    )
    instruction: str = Field(
        min_length=1,
        description="What the agent is to do; may name variables.",
        json_schema_extra=form("Instruction", "指令", editor="template", help_zh="智能体要做什么；可引用变量。"),
    )
    model: ModelChoice = None
    tools: list[str] | None = Field(
        default=None,
        description="Single tools of MCP servers, each as server__tool.",
        json_schema_extra=form("Tools", "工具", editor="tools", help_zh="MCP 服务器的单个工具。", advanced=True),
    )
    mcp_servers: list[str] | None = Field(
        default=None,
        description="MCP servers all of whose tools it may use.",
        json_schema_extra=form(
            "MCP servers", "MCP 服务器", editor="mcpServers", help_zh="可使用其全部工具。", advanced=True
        ),
    )
    skills: list[str] | None = Field(
        default=None,
        description="Skills that it may read and follow, by their folders.",
        json_schema_extra=form("Skills", "技能", editor="skills", help_zh="可阅读并遵循的技能文件夹。", advanced=True),
    )


@final
class SmartActionNode(
    NodeType[SmartActionConfig],
    type="smartAction",
    category="agent",
    icon="wand",
    title={"en": "Smart action", "zh-CN": "智能动作"},
    summary={
        "en": "An agent with tools that asks you where it must.",
        "zh-CN": "带工具的智能体，必要时会向你提问。",
    },
):
    async def execute(self, config: SmartActionConfig, ctx: NodeContext) -> NodeResult | Ask:
        """Return `final_response` and the declared outputs, or what the person is asked.

        Raises:
            ConfigInvalidError: the runtime is not here.
            NodeError: a tool or skill is missing, or the work failed.
        """
        skills = [await ctx.skill(skill_id) for skill_id in config.skills or ()]
        tools = [
            clarify_tool(),
            *opening_tools(skills, ctx),
            *await server_tools(config.mcp_servers or (), config.tools or (), ctx, only=allowed_by(skills)),
        ]
        declared = [SkillField(one.name, one.type, one.description) for one in config.outputs or ()]
        work = AgentWork(
            system=_system(skills, ctx),
            user=told_after(ctx.render(config.instruction), what_a_visit_is_told(ctx)),
            model=config.model,
            tools=tools,
            outputs=[field for field in declared if field.name != FINAL_RESPONSE],
            max_steps=config.max_steps,
            max_tokens=config.max_tokens,
            total_tokens=config.total_tokens,
            terms=config.terms.and_before(*(tool for skill in skills for tool in skill.approval)),
            runtime=config.runtime,
        )
        done = await let_work(work, ctx)
        return done if isinstance(done, Ask) else _result(done, chinese=ctx.chinese)

    def written_names(self, config: SmartActionConfig) -> Sequence[str]:
        return [FINAL_RESPONSE, *(output.name for output in config.outputs or ())]

    def templates(self, config: SmartActionConfig) -> Mapping[str, str]:
        return {"instruction": config.instruction}


def _system(skills: Sequence[Skill], ctx: NodeContext) -> str:
    how = _HOW_CHINESE if ctx.chinese else _HOW
    if not skills:
        return how
    title = (
        "可用的技能（先用 read_skill 阅读）："
        if ctx.chinese
        else "Skills (read one with read_skill before you use it):"
    )
    return "\n".join([how, "", title, catalogue(skills)])


def _result(done: Final, *, chinese: bool) -> NodeResult:
    wishes = list(done.new_requirements) or _restated(done.final_response)
    data: dict[str, JsonValue] = {
        FINAL_RESPONSE: _with_wishes(done.final_response, wishes, chinese=chinese),
        **done.outputs,
    }
    signals: dict[str, JsonValue] = {NEW_REQUIREMENTS: list(wishes)} if wishes else {}
    return NodeResult(data, meta=tool_calls_of(done), signals=signals)


def _with_wishes(response: str, wishes: Sequence[str], *, chinese: bool) -> str:
    """Return the answer with the new requirements at its start, unless they stand there already."""
    if not wishes or _restated(response):
        return response
    said = f"{_NEW_CHINESE}{'；'.join(wishes)}" if chinese else _NEW + "; ".join(wishes)
    return f"{said}\n\n{response}".rstrip()


def _restated(response: str) -> list[str]:
    """The wish that an answer begins with in words, as an agent gives it that ends without the tool for it."""
    line = response.lstrip().partition("\n")[0]
    for begin in (_NEW, _NEW_CHINESE):
        if line.startswith(begin):
            return [wish] if (wish := line.removeprefix(begin).strip()) else []
    return []
