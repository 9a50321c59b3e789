"""What a node's settings say of the people it asks: how long it waits for them, and what becomes of a silence."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from flyback.engine.approval import ALL, Terms
from flyback.engine.forms import nobody_answered
from flyback.engine.nodes.base import NodeConfig, form
from flyback.engine.nodes.context import NodeContext


class WaitingConfig(NodeConfig):
    """A node that may wait for a person."""

    timeout: float | SkipJsonSchema[None] = Field(
        default=None,
        gt=0,
        le=31_536_000,
        description="How long to wait for a person's answer, in seconds. Empty waits for ever.",
        json_schema_extra=form(
            "Wait", "等待（秒）", help_zh="等待用户回答的时限（秒）；为空则一直等待。", advanced=True
        ),
    )


class ApprovedConfig(WaitingConfig):
    """A node that makes one call, before which a person may be asked."""

    approval: bool = Field(
        default=False,
        description="Ask a person each time before it runs, and show exactly what it will do.",
        json_schema_extra=form(
            "Ask before it runs", "运行前需批准", help_zh="每次运行前询问用户，并完整展示将要执行的内容。"
        ),
    )

    def settle(self, ctx: NodeContext) -> None:
        """Say whether a person is asked before the call.

        Raises:
            AnswerTimeoutError: one was asked, and nobody answered in time.
        """
        resumed = ctx.resumed
        if resumed is not None and resumed.approval is not None and resumed.approval.verdict == "expired":
            raise nobody_answered(ctx.node)
        ctx.ask_before(Terms([ALL] if self.approval else (), self.timeout, "fail"))


class AskingConfig(WaitingConfig):
    """An agent's node, which asks people while it works."""

    approval: list[str] | None = Field(
        default=None,
        description="Tools before which a person is asked each time, as server__tool; server__* or * stand for all.",
        json_schema_extra=form(
            "Ask before",
            "需批准的工具",
            editor="tools",
            help_zh="每次运行前都需用户批准的工具：server__tool；server__* 或 * 表示全部。",
            advanced=True,
        ),
    )
    on_timeout: Literal["default", "fail"] = Field(
        default="default",
        description="When nobody answers in time: the agent goes on without the answer, and nothing is approved; or it fails.",
        json_schema_extra=form(
            "On timeout",
            "超时处理",
            help_zh="无人回答时：智能体在没有回答、没有批准的情况下继续，或失败。",
            advanced=True,
        ),
    )

    @property
    def terms(self) -> Terms:
        return Terms(self.approval or (), self.timeout, self.on_timeout)


class AgentLimits(AskingConfig):
    """An agent's node with what it may use."""

    max_steps: int = Field(
        default=20,
        ge=1,
        le=200,
        description="How many times the model may be asked.",
        json_schema_extra=form("Steps", "最多步数", help_zh="最多询问模型的次数。", advanced=True),
    )
    max_tokens: int | None = Field(
        default=None,
        ge=1,
        description="Of one answer of the model.",
        json_schema_extra=form("Token limit", "Token 上限", help_zh="模型单次回答的上限。", advanced=True),
    )
    total_tokens: int | None = Field(
        default=None,
        ge=1,
        description="Of all that is sent to the model and comes back, retries included. Checked before each call.",
        json_schema_extra=form(
            "Tokens in all", "Token 总上限", help_zh="全部收发 Token 的上限，含重试。", advanced=True
        ),
    )
