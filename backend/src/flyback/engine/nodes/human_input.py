"""The humanInput node: the run waits for a person, who fills in a form or chooses what is to happen next.

It asks at every visit. The action that the person takes decides by which handle the run goes on; nobody in time is a
failure, the defaults of the form, or a way of its own, as the node says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal, final

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic.json_schema import SkipJsonSchema

from flyback.domain.graph import OUTPUT
from flyback.domain.inputs import Variable, read_declared, read_variables
from flyback.domain.pause import CANCEL, Action, Ask
from flyback.engine.forms import field_of, nobody_answered
from flyback.engine.nodes.base import Data, NodeConfig, NodeResult, NodeType
from flyback.engine.nodes.base import form as in_form
from flyback.engine.nodes.context import NodeContext
from flyback.engine.nodes.user_input import DeclaredVariable

ACTION = "action"
TIMEOUT = "timeout"
"""The handle, and the value of `action`, where nobody answered and the run takes the way of a timeout."""


class FormAction(BaseModel):
    """One thing that a person may choose."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow")

    id: str = Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")
    label: str = ""

    @property
    def handle(self) -> str:
        return f"{ACTION}-{self.id}"


class HumanInputConfig(NodeConfig):
    prompt: str = Field(
        default="",
        description="What the person is told; may name variables.",
        json_schema_extra=in_form("Prompt", "提示", editor="template", help_zh="告诉对方什么；可引用变量。"),
    )
    form: list[DeclaredVariable] = Field(
        default_factory=list[DeclaredVariable],
        description="The fields to fill in.",
        json_schema_extra=in_form("Form", "表单", editor="variables", help_zh="需要填写的字段。"),
    )
    actions: list[FormAction] = Field(
        default_factory=list[FormAction],
        description="What the person may choose. Each has its own way out.",
        json_schema_extra=in_form("Actions", "操作", editor="actions", help_zh="可选的操作，各有自己的出口。"),
    )
    timeout: float | SkipJsonSchema[None] = Field(
        default=None,
        gt=0,
        le=31_536_000,
        description="How long to wait for an answer, in seconds. Empty waits for ever.",
        json_schema_extra=in_form(
            "Wait", "等待（秒）", help_zh="等待回答的时限（秒）；为空则一直等待。", advanced=True
        ),
    )
    on_timeout: Literal["fail", "default", "route"] = Field(
        default="fail",
        description="When nobody answers in time: fail, take the form's defaults, or leave by the timeout handle.",
        json_schema_extra=in_form(
            "On timeout", "超时处理", help_zh="无人回答时：失败、采用默认值，或走超时出口。", advanced=True
        ),
    )

    @model_validator(mode="after")
    def _has_distinct_actions(self) -> HumanInputConfig:
        ids = [action.id for action in self.actions]
        if len(set(ids)) < len(ids):
            raise ValueError("two actions have the same id")
        if CANCEL in ids:
            raise ValueError(f"the action {CANCEL!r} is there already: it cancels the run")
        return self

    @cached_property
    def fields(self) -> Sequence[Variable]:
        return read_declared([field.model_dump() for field in self.form])


@final
class HumanInputNode(
    NodeType[HumanInputConfig],
    type="humanInput",
    category="input",
    icon="hand",
    title={"en": "Ask a person", "zh-CN": "人工输入"},
    summary={"en": "Waits until a person has answered.", "zh-CN": "等待人工填写或选择后继续。"},
    waits=False,
):
    async def execute(self, config: HumanInputConfig, ctx: NodeContext) -> NodeResult | Ask:
        """Return the form's fields and the action that was taken.

        Raises:
            AnswerTimeoutError: nobody answered in time.
        """
        resumed = ctx.resumed
        if resumed is None:
            return self._ask(config, ctx)
        if resumed.reply is not None:
            reply = resumed.reply
            handle = OUTPUT if reply.action is None else f"{ACTION}-{reply.action}"
            return NodeResult({**reply.values, ACTION: reply.action}, handle=handle)
        return self._without_answer(config, ctx)

    def _ask(self, config: HumanInputConfig, ctx: NodeContext) -> Ask:
        return Ask(
            "form",
            [field_of(variable) for variable in config.fields],
            prompt=ctx.render(config.prompt),
            actions=[Action(action.id, action.label) for action in config.actions],
            on_timeout=config.on_timeout,
            timeout_seconds=config.timeout,
        )

    def _without_answer(self, config: HumanInputConfig, ctx: NodeContext) -> NodeResult:
        defaults = read_variables(config.fields, {})
        match config.on_timeout:
            case "fail":
                raise nobody_answered(ctx.node)
            case "default":
                if defaults.missing:
                    raise nobody_answered(ctx.node, without_default=defaults.missing)
                first = config.actions[0] if config.actions else None
                handle = OUTPUT if first is None else first.handle
                return NodeResult({**defaults.values, ACTION: first.id if first else None}, handle=handle)
            case "route":
                return NodeResult({**defaults.values, ACTION: TIMEOUT}, handle=TIMEOUT)

    def handles(self, config: HumanInputConfig) -> Sequence[str]:
        ways = [action.handle for action in config.actions] or [OUTPUT]
        return [*ways, TIMEOUT] if config.on_timeout == "route" else ways

    def handle_after_skip(self, config: HumanInputConfig, written: Data) -> str:
        """The action that the default output names: none is taken for a person who did not choose it."""
        action = written.get(ACTION)
        return next((one.handle for one in config.actions if one.id == action), OUTPUT)

    def written_names(self, config: HumanInputConfig) -> Sequence[str]:
        return [*(field.name for field in config.form), ACTION]

    def templates(self, config: HumanInputConfig) -> Mapping[str, str]:
        return {"prompt": config.prompt}
