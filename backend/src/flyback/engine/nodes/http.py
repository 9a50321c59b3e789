"""The http node: one HTTP call under the rules for calls to the outside.

Whatever status comes is an answer and no failure: 404 may be what a workflow wants to know, and branches on `status`. A
switch makes statuses from 400 on fail the node; then 429 and 503 are tried again, and 5xx where repeating does no harm.
Each call that may change something carries a key that a repetition after a crash has too.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from email.message import Message as MimeHeader
from email.utils import parsedate_to_datetime
from typing import Literal, final
from urllib.parse import urlencode, urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from flyback.domain.errors import BadJsonError, ConfigInvalidError, HttpStatusError, HttpUnavailableError
from flyback.domain.json_value import dumps, loads_mended
from flyback.domain.template import as_text
from flyback.engine.given import named_values, texts_in
from flyback.engine.nodes.base import Data, NodeType, form
from flyback.engine.nodes.context import NodeContext
from flyback.engine.nodes.person import ApprovedConfig
from flyback.engine.ports import Header, WebAnswer, WebRequest

_REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
_NOT_DONE = frozenset({429, 503})
"""The server says that it did nothing."""

_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
_FORM = "application/x-www-form-urlencoded"


class HttpAuth(BaseModel):
    """How the call signs itself. The values are templates."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="ignore")

    type: Literal["none", "bearer", "basic"] = Field(
        default="none", json_schema_extra=form("Kind", "方式", help_zh="无、令牌或用户名密码。")
    )
    token: str = Field(default="", json_schema_extra=form("Token", "令牌", editor="template"))
    username: str = Field(default="", json_schema_extra=form("User", "用户名", editor="template"))
    password: str = Field(default="", json_schema_extra=form("Password", "密码", editor="template"))


class HttpConfig(ApprovedConfig):
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"] = Field(
        default="GET",
        description="What the call does.",
        json_schema_extra=form("Method", "请求方法", help_zh="HTTP 请求方法。"),
    )
    url: str = Field(
        min_length=1,
        description="An http or https address; may name variables.",
        json_schema_extra=form("Address", "地址", editor="template", help_zh="http 或 https 地址，可引用变量。"),
    )
    headers: dict[str, JsonValue] | list[dict[str, JsonValue]] | None = Field(
        default=None,
        description="Name to value; may name variables.",
        json_schema_extra=form("Headers", "请求头", editor="values", help_zh="名称到值，可引用变量。"),
    )
    query: dict[str, JsonValue] | list[dict[str, JsonValue]] | None = Field(
        default=None,
        description="Name to value, encoded and put behind the address; may name variables.",
        json_schema_extra=form("Query", "查询参数", editor="values", help_zh="名称到值，会被编码，可引用变量。"),
    )
    body: JsonValue = Field(
        default=None,
        description="JSON or a text; may name variables. In JSON a text that is one reference becomes its value.",
        json_schema_extra=form("Body", "请求体", editor="template", help_zh="JSON 或文本，可引用变量。"),
    )
    body_type: Literal["json", "text", "form"] = Field(
        default="json",
        description="How the body is sent: as JSON, as it is, or as the fields of a form.",
        json_schema_extra=form("Body type", "请求体类型", help_zh="以 JSON、原文或表单字段发送。", advanced=True),
    )
    auth: HttpAuth | None = Field(
        default=None,
        description='A bearer token, `{"type": "bearer", "token": "{{token}}"}`, or `basic` with `username` and `password`.',
        json_schema_extra=form(
            "Sign in with",
            "认证",
            editor="json",
            help_zh='Bearer 令牌 `{"type": "bearer", "token": "{{token}}"}`，或 `basic` 加 `username` 和 `password`。',
            advanced=True,
        ),
    )
    fail_on_status: bool = Field(
        default=False,
        description="Whether a status from 400 on fails the node. Otherwise it is an answer like any other.",
        json_schema_extra=form(
            "Fail on status 400 and above", "状态码 ≥ 400 视为失败", help_zh="否则状态码只是输出。", advanced=True
        ),
    )


@final
class HttpNode(
    NodeType[HttpConfig],
    type="http",
    category="data",
    icon="globe",
    title={"en": "HTTP call", "zh-CN": "HTTP 请求"},
    summary={"en": "Calls a web address once.", "zh-CN": "调用一次网络地址。"},
):
    async def execute(self, config: HttpConfig, ctx: NodeContext) -> Data:
        """Return `{"status": int, "headers": {name: value}, "body": str, "json": JSON or null}`.

        A body that is no text is given in base64, and `meta.bodyEncoding` says so.

        Raises:
            PersonNeededError: a person is asked whether it may be made.
            ToolDeniedError, AnswerTimeoutError: it may not, or nobody said so in time.
            NodeError: what `Egress.fetch` raises; HttpStatusError where statuses are failures.
        """
        config.settle(ctx)
        answer = await ctx.fetch(_request(config, ctx))
        if config.fail_on_status and answer.status >= 400:
            raise _status_failure(config.method, answer)
        headers = _joined(answer.headers)
        kind = MimeHeader()
        kind["content-type"] = headers.get("content-type", "")
        body = _text(answer.body, kind.get_content_charset("utf-8"))
        if body is None:
            ctx.note("bodyEncoding", "base64")
            return {
                "status": answer.status,
                "headers": dict(headers),
                "body": base64.b64encode(answer.body).decode("ascii"),
                "json": None,
            }
        return {"status": answer.status, "headers": dict(headers), "body": body, "json": _json(body, headers, ctx)}

    def written_names(self, config: HttpConfig) -> Sequence[str]:
        return ["status", "headers", "body", "json"]

    def templates(self, config: HttpConfig) -> Mapping[str, str]:
        fields: dict[str, JsonValue] = {
            "url": config.url,
            "headers": dict(named_values(config.headers)),
            "query": dict(named_values(config.query)),
            "body": config.body,
        }
        if config.auth is not None:
            fields["auth"] = config.auth.model_dump(exclude={"type"})
        return {name: text for field, value in fields.items() for name, text in texts_in(field, value)}


def _request(config: HttpConfig, ctx: NodeContext) -> WebRequest:
    headers = [(ctx.render(name), as_text(ctx.filled(value))) for name, value in named_values(config.headers).items()]
    signed = _signature(config.auth, ctx)
    if signed is not None:
        headers = [header for header in headers if header[0].lower() != "authorization"] + [signed]
    body, kind = _body(config, ctx)
    if body is not None and not any(name.lower() == "content-type" for name, _ in headers):
        headers.append(("Content-Type", kind))
    return WebRequest(config.method, _address(config, ctx), headers, body)


def _address(config: HttpConfig, ctx: NodeContext) -> str:
    url = ctx.render(config.url).strip()
    pairs: list[tuple[str, str]] = []
    for name, value in named_values(config.query).items():
        filled = ctx.filled(value)
        several = filled if isinstance(filled, list) else [filled]
        pairs += [(ctx.render(name), as_text(one)) for one in several if one is not None]
    if not pairs:
        return url
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ConfigInvalidError(f"the address {url!r} cannot be read: {error}", field="url") from error
    query = "&".join(part for part in (parts.query, urlencode(pairs)) if part)
    return urlunsplit(parts._replace(query=query, fragment=""))


def _signature(auth: HttpAuth | None, ctx: NodeContext) -> Header | None:
    if auth is None or auth.type == "none":
        return None
    if auth.type == "bearer":
        return "Authorization", f"Bearer {ctx.render(auth.token).strip()}"
    pair = f"{ctx.render(auth.username)}:{ctx.render(auth.password)}"
    return "Authorization", f"Basic {base64.b64encode(pair.encode()).decode('ascii')}"


def _body(config: HttpConfig, ctx: NodeContext) -> tuple[bytes | None, str]:
    body = config.body
    if body is None or body == "":
        return None, ""
    match config.body_type:
        case "json":
            return _json_body(body, ctx).encode(), _JSON
        case "form":
            return urlencode(list(_fields(body, ctx)), doseq=False).encode(), _FORM
        case "text":
            text = ctx.render(body) if isinstance(body, str) else as_text(ctx.filled(body))
            return text.encode(), _TEXT


def _json_body(body: JsonValue, ctx: NodeContext) -> str:
    """A body that was written as text is filled in as JSON where it is JSON, so that a quotation mark in a value cannot
    break it; where a bare reference stands in it, it is filled in as text and must be JSON afterwards."""
    if not isinstance(body, str):
        return dumps(ctx.filled(body))
    written = _as_json(body)
    if written is not None:
        return dumps(ctx.filled(written[0]))
    filled = ctx.filled(body)
    if not isinstance(filled, str):
        return dumps(filled)
    if _as_json(filled) is None:
        raise ConfigInvalidError(
            "the body is no JSON once its variables are filled in",
            field="body",
            fix='Put references that stand for texts in quotation marks, or choose the body type "text".',
        )
    return filled


def _as_json(text: str) -> tuple[JsonValue] | None:
    try:
        return (loads_mended(text)[0],)
    except BadJsonError:
        return None


def _fields(body: JsonValue, ctx: NodeContext) -> Iterator[tuple[str, str]]:
    written = (_as_json(body) or (None,))[0] if isinstance(body, str) else body
    if not isinstance(written, dict):
        raise ConfigInvalidError(
            "the body of a form is an object of names and values", field="body", fix='Write {"name": "value"}.'
        )
    for name, value in written.items():
        filled = ctx.filled(value)
        for one in filled if isinstance(filled, list) else [filled]:
            yield ctx.render(name), as_text(one)


def _joined(headers: Sequence[Header]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in headers:
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


def _text(body: bytes, charset: str) -> str | None:
    try:
        return body.decode(charset)
    except (UnicodeDecodeError, LookupError):
        pass
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _json(body: str, headers: Mapping[str, str], ctx: NodeContext) -> JsonValue:
    if not body.strip():
        return None
    try:
        value, notes = loads_mended(body)
    except BadJsonError as error:
        if "json" in headers.get("content-type", ""):
            ctx.note("notJson", error.message)
        return None
    if notes:
        ctx.note("mended", list(notes))
    return value


def _status_failure(method: str, answer: WebAnswer) -> HttpStatusError:
    said = " ".join(answer.body[:300].decode("utf-8", "replace").split())
    message = f"the server answered {answer.status}" + (f": {said}" if said else "")
    may_pass = answer.status in _NOT_DONE or (answer.status >= 500 and method in _REPEATABLE)
    error = HttpUnavailableError(message) if may_pass else HttpStatusError(message)
    error.fix = "Look at what was sent under the node's calls, and at the server's documentation."
    error.retry_after_seconds = _retry_after(_joined(answer.headers))
    return error


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, where the server named them; a date counts from the server's own."""
    given = headers.get("retry-after", "").strip()
    if given.isdecimal() and len(given) < 8:
        return float(given)
    try:
        return max(0.0, (parsedate_to_datetime(given) - parsedate_to_datetime(headers["date"])).total_seconds())
    except (KeyError, ValueError, TypeError):
        return None
