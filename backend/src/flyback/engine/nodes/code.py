"""The code node: a Python program, run in the sandbox and never in the server's interpreter.

Its inputs stand in it as variables, and its outputs are the variables that it leaves behind. Without declared outputs that
is `result`, and where it sets none, what it printed.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence
from typing import final

from pydantic import Field, JsonValue, field_validator, model_validator

from flyback.domain.errors import CodeError
from flyback.engine.given import named_values, texts_in
from flyback.engine.nodes.base import Data, NodeType, form
from flyback.engine.nodes.context import NodeContext
from flyback.engine.nodes.person import ApprovedConfig
from flyback.engine.ports import CodeResult

RESULT = "result"

_PRINTED_CHARACTERS = 16_384


class CodeConfig(ApprovedConfig):
    source: str = Field(
        default="",
        description="Python. Inputs are variables in it; outputs are the variables that it sets.",
        json_schema_extra=form("Program", "代码", editor="code", help_zh="Python。输入是变量，输出是它赋值的变量。"),
    )

    @field_validator("source")
    @classmethod
    def _is_text(cls, source: str) -> str:
        if "\0" in source:
            raise ValueError("a program has no NUL in it")
        return source

    @model_validator(mode="after")
    def _names_can_be_variables(self) -> CodeConfig:
        for name in (*named_values(self.inputs), *(output.name for output in self.outputs or ())):
            if not name.isidentifier() or keyword.iskeyword(name):
                raise ValueError(f"{name!r} is no name that a variable in Python can have")
        return self


@final
class CodeNode(
    NodeType[CodeConfig],
    type="code",
    category="logic",
    icon="code",
    title={"en": "Code", "zh-CN": "代码"},
    summary={"en": "Runs a Python program in a sandbox.", "zh-CN": "在沙箱中运行一段 Python 代码。"},
):
    async def execute(self, config: CodeConfig, ctx: NodeContext) -> Data:
        """Return the declared outputs, else `{"result": …}`.

        Raises:
            PersonNeededError: a person is asked whether it may run.
            ToolDeniedError, AnswerTimeoutError: it may not, or nobody said so in time.
            NodeError: what `Sandbox.run` raises; CodeError where a declared output is missing.
        """
        config.settle(ctx)
        inputs = {name: ctx.filled(value) for name, value in named_values(config.inputs).items()}
        declared = [output.name for output in config.outputs or ()]
        ran = await ctx.run_code(config.source, inputs, declared or [RESULT])
        if ran.printed:
            ctx.note("printed", ran.printed[:_PRINTED_CHARACTERS])
        if ran.mended:
            ctx.note("mended", list(ran.mended))
        return _declared(declared, ran) if declared else {RESULT: ran.values.get(RESULT, ran.printed)}

    def written_names(self, config: CodeConfig) -> Sequence[str]:
        return [output.name for output in config.outputs or ()] or [RESULT]

    def templates(self, config: CodeConfig) -> Mapping[str, str]:
        given: dict[str, JsonValue] = dict(named_values(config.inputs))
        return dict(texts_in("inputs", given))


def _declared(names: Sequence[str], ran: CodeResult) -> Data:
    missing = [name for name in names if name not in ran.values]
    if missing:
        raise CodeError(
            f"the program did not set {', '.join(repr(name) for name in missing)}",
            field="outputs",
            fix="Let it set every declared output on every way through it.",
        )
    return {name: ran.values[name] for name in names}
