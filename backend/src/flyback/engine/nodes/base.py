"""What a node type is: one class in one module of this package.

Its config model is the editor's form, its registration its place in the palette; nothing else lists node types by hand.
To add one, write a module here with a class like the others: importing the package registers it.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationInfo, field_validator
from pydantic.alias_generators import to_camel

from flyback.domain.graph import OUTPUT, Node
from flyback.domain.pause import Ask
from flyback.domain.value import value_type
from flyback.engine.nodes.context import NodeContext

Category = Literal["input", "model", "agent", "logic", "data", "output", "drawing"]


Editor = Literal[
    "text",
    "longText",
    "code",
    "template",
    "references",
    "model",
    "skill",
    "skills",
    "mcpServer",
    "mcpServers",
    "mcpTool",
    "tools",
    "variables",
    "values",
    "outputs",
    "conditions",
    "actions",
    "schema",
    "workflow",
    "json",
]
"""Which control of the editor edits a field; without one the field's JSON type decides."""


def form(
    en: str, zh: str, *, editor: Editor | None = None, help_zh: str = "", advanced: bool = False
) -> dict[str, JsonValue]:
    """Return what the editor's form needs to know of a field beside its JSON schema: its titles, its control, its help.

    The English help is the field's description.
    """
    extra: dict[str, JsonValue] = {"x-title": {"en": en, "zh-CN": zh}}
    if editor is not None:
        extra["x-editor"] = editor
    if help_zh:
        extra["x-help"] = {"zh-CN": help_zh}
    if advanced:
        extra["x-advanced"] = True
    return extra


class OutputField(BaseModel):
    """One declared output variable."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="allow")

    name: str
    type: str = "string"
    description: str = ""


class NodeConfig(BaseModel):
    """What every node's `data` may carry. Keys we do not know are kept in the graph and ignored here."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore", defer_build=True)

    label: str = Field(default="", max_length=200, json_schema_extra=form("Label", "名称", editor="text"))
    description: str = Field(
        default="",
        description="What it is for. The planner reads it.",
        json_schema_extra=form("Description", "说明", editor="longText", help_zh="节点的用途，Planner 会读取。"),
    )
    inputs: dict[str, JsonValue] | list[dict[str, JsonValue]] | None = Field(
        default=None,
        description="Name to template, or a list of name and value.",
        json_schema_extra=form("Inputs", "输入", editor="values", help_zh="名称到模板的映射。", advanced=True),
    )
    outputs: list[OutputField] | None = Field(
        default=None,
        description="The variables it gives, each with its type.",
        json_schema_extra=form(
            "Outputs", "输出变量", editor="outputs", help_zh="节点给出的变量及其类型。", advanced=True
        ),
    )
    fail_strategy: Literal["", "abort", "skip", "branch"] | None = Field(
        default=None,
        description="After the retries. Empty: in DAG mode abort, in AGENTIC mode the planner decides.",
        json_schema_extra=form(
            "On failure",
            "失败处理",
            help_zh="重试之后。为空时：DAG 模式终止运行，智能体模式由 Planner 决定。",
            advanced=True,
        ),
    )
    default_output: JsonValue = Field(
        default=None,
        description="Written when the strategy is skip.",
        json_schema_extra=form("Default output", "默认输出", editor="json", help_zh="跳过时写入的值。", advanced=True),
    )
    max_retries: int = Field(
        default=3,
        ge=0,
        le=10,
        description="How often an attempt that failed is repeated; only faults that can pass are.",
        json_schema_extra=form("Retries", "重试次数", help_zh="只重试可能自行恢复的故障。", advanced=True),
    )
    timeout_seconds: float = Field(
        default=600,
        gt=0,
        le=86_400,
        description="Of one attempt, in seconds.",
        json_schema_extra=form("Timeout", "超时（秒）", help_zh="单次尝试的时限。", advanced=True),
    )

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: object, field: ValidationInfo) -> object:
        """In Python it is 1; in a graph it is a mistake."""
        if isinstance(value, bool) and _is_number(cls.model_fields[field.field_name or ""].annotation):
            raise ValueError("must be a number")
        return value


@cache
def _is_number(annotation: object) -> bool:
    kinds = get_args(annotation) or (annotation,)
    return bool not in kinds and (int in kinds or float in kinds)


ModelChoice = Annotated[
    str | None,
    Field(
        description="The name of a model entry. Empty means the default model.",
        json_schema_extra=form("Model", "模型", editor="model", help_zh="为空时使用默认模型。"),
    ),
]
"""The field by which a node says which model it asks."""


@value_type
class NodeResult:
    """What a node gives back when more than its data is to be said."""

    data: Mapping[str, JsonValue]
    handle: str = OUTPUT
    """The handle it activates. A condition without an ELSE edge activates a handle by which no edge leaves."""
    meta: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    signals: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


Data = Mapping[str, JsonValue]
"""Variable name to JSON value."""

ConfigT = TypeVar("ConfigT", bound=NodeConfig)


class NodeType(ABC, Generic[ConfigT]):
    """A kind of node. Subclasses say `class LlmNode(NodeType[LlmConfig], type="llm", …)`."""

    type: ClassVar[str]
    category: ClassVar[Category]
    icon: ClassVar[str]
    title: ClassVar[Mapping[str, str]]
    """Language to name: `{"en": …, "zh-CN": …}`."""
    summary: ClassVar[Mapping[str, str]]
    """Language to one line that says what it does."""
    config_type: ClassVar[type[NodeConfig]]
    runs: ClassVar[bool] = True
    """False for what is only drawn."""
    starts_runs: ClassVar[bool] = False
    """True for what starts runs inside the run."""
    waits: ClassVar[bool] = True
    """False for what is computed at once, so that no timeout needs to watch it."""

    def __init_subclass__(
        cls,
        *,
        type: str,
        category: Category,
        icon: str,
        title: Mapping[str, str],
        summary: Mapping[str, str],
        runs: bool = True,
        waits: bool = True,
        starts_runs: bool = False,
    ) -> None:
        cls.type, cls.category, cls.icon, cls.title, cls.summary = type, category, icon, title, summary
        cls.runs, cls.waits, cls.starts_runs = runs, waits, starts_runs
        base = cast("Any", cls).__orig_bases__[0]
        cls.config_type = get_args(base)[0]
        if type in _REGISTRY:
            raise TypeError(f"two classes register the node type {type!r}")
        _REGISTRY[type] = cls()

    @abstractmethod
    async def execute(self, config: ConfigT, ctx: NodeContext) -> Data | NodeResult | Ask:
        """Do the work once, or ask a person: then the work goes on with `ctx.resumed` when there is an answer.

        Raises NodeError; retries, timeouts and strategies are the engine's business.
        """

    def handles(self, config: ConfigT) -> Sequence[str]:
        """The handles by which edges may leave, without `error`."""
        return (OUTPUT,)

    def handle_after_skip(self, config: ConfigT, written: Data) -> str:
        """The handle by which the run goes on after a failure under `skip`. `written` is the default output."""
        return OUTPUT

    def written_names(self, config: ConfigT) -> Sequence[str]:
        """The variables it may write, as far as the drawing tells."""
        return [output.name for output in config.outputs or ()]

    def templates(self, config: ConfigT) -> Mapping[str, str]:
        """Field name to template text, of every field that may hold references."""
        return {}


_REGISTRY: dict[str, NodeType[Any]] = {}


@cache
def _load() -> None:
    package = importlib.import_module("flyback.engine.nodes")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"flyback.engine.nodes.{module.name}")


def node_types() -> Mapping[str, NodeType[Any]]:
    """Every registered node type, by its name."""
    _load()
    return _REGISTRY


def starts_runs(node: Node) -> bool:
    """Whether a node starts runs inside its run."""
    kind = node_types().get(node.type)
    return kind is not None and kind.starts_runs


def read_config(node: Node) -> NodeConfig:
    """Read a node's data with its type's model; null is as good as not given. Raises pydantic.ValidationError."""
    given = {name: value for name, value in node.data.items() if value is not None}
    return node_types()[node.type].config_type.model_validate(given)
