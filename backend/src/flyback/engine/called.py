"""What nodes have in common that have a workflow run: which one, and what it is given."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field, JsonValue, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from flyback.domain.run import VersionChoice
from flyback.engine.given import named_values, texts_in
from flyback.engine.nodes.base import NodeConfig, form

LATEST = "latest"


class CallingConfig(NodeConfig):
    """The settings of a node that has a workflow run: a saved one by its id, or a graph that stands in the node itself."""

    workflow_id: str = Field(
        default="",
        max_length=200,
        description="A saved workflow: its id, or its name where only one has it.",
        json_schema_extra=form(
            "Workflow", "工作流", editor="workflow", help_zh="已保存的工作流：其 ID，或唯一的名称。"
        ),
    )
    version: int | str | SkipJsonSchema[None] = Field(
        default=None,
        description="A published version by its number, or latest. Empty is the saved draft.",
        json_schema_extra=form(
            "Version", "版本", editor="text", help_zh="已发布版本的编号或 latest；为空则用保存的草稿。", advanced=True
        ),
    )
    workflow: dict[str, JsonValue] | SkipJsonSchema[None] = Field(
        default=None,
        description="In place of a saved workflow: a graph file, with its mode and its graphData.",
        json_schema_extra=form(
            "Own graph",
            "内嵌工作流",
            editor="json",
            help_zh="不用已保存的工作流时：一个工作流文件（含 mode 与 graphData）。",
            advanced=True,
        ),
    )
    timeout_seconds: float = Field(
        default=86_400,
        gt=0,
        le=86_400,
        description="Of the runs together, in seconds; waiting for people does not count.",
        json_schema_extra=form("Timeout", "超时（秒）", help_zh="全部子运行的时限；等待人工不计。", advanced=True),
    )

    @field_validator("version")
    @classmethod
    def _is_a_version(cls, version: int | str | None) -> int | str | None:
        if isinstance(version, str):
            text = version.strip()
            if text in ("", LATEST):
                return text or None
            if not (text.isascii() and text.isdigit()):
                raise ValueError(f"a version is a number or {LATEST!r}")
            version = int(text)
        if version is not None and not 0 < version < 1_000_000_000:
            raise ValueError("versions are counted from 1")
        return version

    @model_validator(mode="after")
    def _has_one_workflow(self) -> CallingConfig:
        if bool(self.workflow_id.strip()) == (self.workflow is not None):
            raise ValueError("choose a workflow, or write one into `workflow`; not both")
        return self

    @property
    def called(self) -> str | Mapping[str, JsonValue]:
        return self.workflow_id.strip() if self.workflow is None else self.workflow

    @property
    def chosen_version(self) -> VersionChoice:
        return LATEST if isinstance(self.version, str) else self.version

    @property
    def given(self) -> Mapping[str, JsonValue]:
        """Input of the workflow to its template."""
        return named_values(self.inputs)

    @property
    def given_texts(self) -> dict[str, str]:
        """Field name to template text of what the workflow is given."""
        return dict(texts_in("inputs", dict(self.given)))
