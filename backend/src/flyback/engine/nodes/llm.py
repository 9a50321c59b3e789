"""The llm node: fill in two prompts from the workspace and ask a model once.

A name that cannot be resolved stays in the text as written: half a prompt still earns an answer, a stopped run does not.
The context notes the name for the record. Retries belong to the engine, which knows what the run has already paid for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from pydantic import Field, JsonValue

from flyback.domain.template import references
from flyback.engine.asking import ask_for_fields, ask_for_text
from flyback.engine.nodes.base import ModelChoice, NodeConfig, NodeResult, NodeType, form
from flyback.engine.nodes.context import NodeContext
from flyback.engine.told import told_after, what_a_visit_is_told


class LlmConfig(NodeConfig):
    model: ModelChoice = None
    system_prompt: str = Field(
        default="",
        description="May name variables: `{{name}}`, `{{nodeId.name}}`.",
        json_schema_extra=form("System prompt", "系统提示词", editor="template", help_zh="可引用变量。"),
    )
    user_prompt: str = Field(
        default="",
        description="May name variables: `{{name}}`, `{{nodeId.name}}`.",
        json_schema_extra=form("User prompt", "用户提示词", editor="template", help_zh="可引用变量。"),
    )
    temperature: float | None = Field(
        default=None,
        ge=0,
        le=2,
        description="Empty means the provider's own.",
        json_schema_extra=form("Temperature", "温度", help_zh="为空时使用服务方的默认值。", advanced=True),
    )
    max_tokens: int | None = Field(
        default=None,
        ge=1,
        description="The most it may answer. Text that is cut by it is kept and marked.",
        json_schema_extra=form("Token limit", "最大输出 Token", help_zh="被截断的文本会保留并标记。", advanced=True),
    )
    output_schema: dict[str, JsonValue] | None = Field(
        default=None,
        description="A JSON schema of the answer. The fields of its object become the output variables.",
        json_schema_extra=form(
            "Output schema", "输出结构", editor="schema", help_zh="其字段成为输出变量。", advanced=True
        ),
    )
    tell_revisit: bool = Field(
        default=True,
        description="When it is visited again and its prompts use none of `{{visit.…}}`, say why it was sent back.",
        json_schema_extra=form(
            "Tell why it is revisited",
            "告知重访原因",
            help_zh="再次访问且提示词未引用 visit 时，附上原因。",
            advanced=True,
        ),
    )


@final
class LlmNode(
    NodeType[LlmConfig],
    type="llm",
    category="model",
    icon="sparkles",
    title={"en": "Model", "zh-CN": "大模型"},
    summary={"en": "Asks a model once.", "zh-CN": "向大模型提问一次。"},
):
    async def execute(self, config: LlmConfig, ctx: NodeContext) -> NodeResult:
        """Return `{"text": str}`, the model's answer without its thinking, or the fields that were declared.

        Raises:
            NodeError: the model gave no answer, an empty one that was cut, or one that cannot be read.
        """
        model = await ctx.model(config.model)
        system, user = ctx.render(config.system_prompt), ctx.render(config.user_prompt)
        if _is_to_be_told(config, ctx):
            user = told_after(user, what_a_visit_is_told(ctx))
        wanted = config.output_schema or config.outputs
        if not wanted:
            return await ask_for_text(
                ctx, model, system, user, temperature=config.temperature, max_tokens=config.max_tokens
            )
        return await ask_for_fields(
            ctx, model, system, user, wanted, temperature=config.temperature, max_tokens=config.max_tokens
        )

    def written_names(self, config: LlmConfig) -> Sequence[str]:
        if config.output_schema:
            properties = config.output_schema.get("properties")
            return list(properties) if isinstance(properties, dict) else ["result"]
        return [output.name for output in config.outputs or ()] or ["text"]

    def templates(self, config: LlmConfig) -> Mapping[str, str]:
        return {"systemPrompt": config.system_prompt, "userPrompt": config.user_prompt}


def _is_to_be_told(config: LlmConfig, ctx: NodeContext) -> bool:
    if ctx.visit is None or ctx.visit.iter_seq < 2 or not config.tell_revisit:
        return False
    prompts = (config.system_prompt, config.user_prompt)
    return not any(reference.names[0] == "visit" for prompt in prompts for reference in references(prompt))
