"""What workflows are built with, on the wire: node types, model entries, skills, MCP servers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from flyback.api.payloads import Answer, Name, Payload, PlainText, Time, WholeList
from flyback.api.wire.common import Failure, Usage


class NodeType(Answer):
    """One type of node: what the palette and the form are drawn from."""

    type: str
    title: dict[str, str] = Field(description="Language to name.")
    summary: dict[str, str]
    category: Literal["input", "model", "agent", "logic", "data", "output", "drawing"]
    icon: str
    runs: bool = Field(description="False for what is only drawn.")
    handles: list[str] = Field(description="Of a node with nothing filled in; a condition has one for each branch.")
    writes: list[str] = Field(
        description="The variables that a node with nothing filled in writes, as far as it is known."
    )
    config_schema: dict[str, JsonValue] = Field(description="JSON schema of `data`.")


class NodeTypeList(WholeList):
    items: list[NodeType]


class Prices(Answer):
    input_per_million: float
    output_per_million: float
    currency: str


class PricesGiven(Payload):
    input_per_million: Annotated[float, Field(ge=0, le=1e9)]
    output_per_million: Annotated[float, Field(ge=0, le=1e9)]
    currency: Annotated[PlainText, Field(min_length=1, max_length=8)] = "USD"


class ModelGiven(Payload):
    """A model entry. The key can be written and never read."""

    name: Name
    provider: Annotated[PlainText, Field(min_length=1, max_length=60)]
    base_url: Annotated[PlainText, Field(max_length=2_000)] | None = None
    model: Annotated[PlainText, Field(max_length=200)] = ""
    api_key: Annotated[str, Field(max_length=8_000)] | None = Field(
        default=None, description="Missing keeps the stored one; an empty text removes it."
    )
    prices: PricesGiven | None = None
    fallbacks: list[Name] = Field(default_factory=list, max_length=20)
    is_default: bool = False
    script: JsonValue = None


class Model(Answer):
    id: str
    name: str
    provider: str
    base_url: str | None
    model: str
    has_key: bool
    prices: Prices | None
    fallbacks: list[str]
    is_default: bool
    built_in: bool
    script: JsonValue
    tested_at: Time | None
    created_at: Time | None
    updated_at: Time | None


class ModelList(WholeList):
    items: list[Model]


class ModelTest(Answer):
    """How a short question to the model went."""

    ok: bool
    text: str | None
    model: str | None
    latency_ms: int
    usage: Usage
    error: Failure | None


class EmbeddedModel(Model):
    """The model inside: its entry, whether its file is here, and how far fetching it is."""

    state: Literal["missing", "fetching", "ready", "failed"]
    size_bytes: int
    fetched_bytes: int
    message: str | None


class SkillField(Answer):
    name: str
    type: str
    description: str
    required: bool


class Skill(Answer):
    """A skill folder."""

    id: str
    name: str
    description: str
    inputs: list[SkillField]
    outputs: list[SkillField]
    allowed_tools: list[str] | None
    problems: list[str] = Field(description="What its SKILL.md does not do as the open format asks.")
    usable: bool = Field(description="Whether a node can run it.")
    built_in: bool
    updated_at: Time


class SkillDetail(Skill):
    body: str = Field(description="The instructions, without front matter.")
    source: str = Field(description="The whole SKILL.md.")
    revision: str = Field(description="Changes with the SKILL.md. Sent back when another one is saved.")
    files: list[str]


class SkillList(WholeList):
    items: list[Skill]


class SkillVersion(Answer):
    """A content that a skill has or had. It never changes."""

    number: int = Field(description="Counts the skill's contents in the order they were first met, from 1.")
    hash: str = Field(description="Of its files: what it is read and restored by.")
    name: str
    description: str
    current: bool = Field(description="Whether the folder holds this now.")
    created_at: Time


class SkillVersionList(WholeList):
    """Newest first."""

    items: list[SkillVersion]


class SkillFile(Answer):
    path: str
    text: str


class SkillGiven(Payload):
    source: Annotated[str, Field(max_length=1_048_576)] = Field(description="The whole SKILL.md.")


class SkillSaved(SkillGiven):
    revision: str | None = Field(
        default=None,
        max_length=64,
        description="Of the SKILL.md that this one was made from. Without it whatever is stored is replaced.",
    )


Secret = Annotated[str, Field(max_length=8_000)]
SecretHeaders = Annotated[dict[str, str], Field(max_length=20)]
ToolNames = Annotated[list[Annotated[PlainText, Field(min_length=1, max_length=200)]], Field(max_length=500)]


class McpServerGiven(Payload):
    """An MCP server that is reached over HTTP. Nothing is connected to when it is made."""

    name: Name
    url: Annotated[PlainText, Field(min_length=1, max_length=2_000)]
    token: Secret | None = Field(default=None, description="Sent as a bearer token. It can be written and never read.")
    headers: SecretHeaders | None = Field(
        default=None, description="Sent with each call, name to value. Values can be written and never read."
    )
    approval: ToolNames = Field(
        default_factory=list, description="The tools before which a person is asked; `*` stands for all."
    )


class McpServerChanged(Payload):
    """What is to be different of a server; what is missing stays. A new address loses token, headers and what was accepted.

    Of a server of the operator only `approval` can be changed: what it adds to the file's own.
    """

    url: Annotated[PlainText, Field(min_length=1, max_length=2_000)] | None = None
    token: Secret | None = Field(default=None, description="Missing keeps the stored one; an empty text removes it.")
    headers: SecretHeaders | None = Field(default=None, description="All of them, in place of those that there are.")
    approval: ToolNames | None = None


class McpServer(Answer):
    id: str
    name: str
    url: str = Field(description="Empty for a program that the operator's file names.")
    of_operator: bool = Field(description="Named in the operator's file: only its approval can be changed here.")
    has_token: bool
    header_names: list[str] = Field(description="The headers that are sent with each call, without their values.")
    approval: list[str] = Field(description="The tools before which a person is asked; `*` stands for all.")
    created_at: Time | None
    updated_at: Time | None


class McpServerList(WholeList):
    items: list[McpServer]


class ToolAccepted(Answer):
    """What a tool said of itself when it was accepted."""

    description: str
    input_schema: JsonValue


class McpTool(Answer):
    """A tool as its server describes it: text of a stranger."""

    name: str
    qualified_name: str = Field(description="Its name among the tools of all servers.")
    description: str
    input_schema: dict[str, JsonValue]
    accepted: bool = Field(
        description="False where it is not what was accepted: it cannot be used until it is accepted."
    )
    accepted_as: ToolAccepted | None = Field(
        default=None, description="What was accepted, where that is not this; null for a tool that came later."
    )
    approval: bool = Field(description="Whether a person is asked before it runs.")


class McpToolList(WholeList):
    items: list[McpTool]
    hash: str = Field(description="What these tools are accepted by, exactly as they stand here.")


class McpToolsAccepted(Payload):
    hash: Annotated[PlainText, Field(min_length=1, max_length=200)] = Field(
        description="The hash that came with the tools."
    )
