"""Where the calls of model entries may go: to the public internet, to this machine and one's own network, and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from flyback.domain.errors import EgressRefusedError, ModelRefusedError, ModelUnavailableError
from flyback.domain.graph import NodeId
from flyback.domain.redaction import Redactor
from flyback.domain.run import RunId
from flyback.engine.ports import CallSite, ChatReply, ChatRequest, Message
from flyback.providers.chat.http_model import ChatConnections, HttpChatModel, model_guard
from flyback.providers.chat.vendors import VENDORS, Endpoint
from flyback.providers.egress.addresses import AllowList
from flyback.providers.egress.guard import ModelGuard
from flyback.providers.system import SystemClock
from kit.model_server import ModelServer, fails, says

KEY = "sk-Very+secret/key=1"
PUBLIC, INSIDE = "93.184.215.14", "10.1.2.3"


class Names:
    """A resolver whose names lead where a test says, one answer after another; the last one stays."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        if not self._answers:
            raise OSError("nobody knows that name")
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


@asynccontextmanager
async def a_model(base_url: str, *answers: Sequence[str], allowed: str = "") -> AsyncGenerator[HttpChatModel]:
    guard = model_guard(AllowList.read(allowed), Names(*answers))
    shared = ChatConnections(clock=SystemClock(), redactor=Redactor(), guard=guard)
    try:
        yield HttpChatModel("mine", Endpoint("openai", base_url, "tiny", KEY), shared)
    finally:
        await shared.close()


async def ask(model: HttpChatModel) -> str:
    site = CallSite(RunId("run-1"), NodeId("draft"), None, "node", 1)
    async for part in model.stream(ChatRequest([Message("user", "hello")], site)):
        if isinstance(part, ChatReply):
            return part.text
    raise AssertionError("no reply")


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "localhost", "ollama", "models.intranet.example"])
async def test_a_model_on_this_machine_answers_by_whatever_name(host: str) -> None:
    async with ModelServer(says("ready")) as server:
        url = server.base_url.replace("127.0.0.1", host)
        async with a_model(url, ["127.0.0.1"]) as model:
            assert await ask(model) == "ready"
    assert server.asked[0].headers["host"].startswith(host)


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::1]",
        "[fd00:ec2::254]",
        "[fd20:ce::254]",
        "[fd00:c1::a9fe:a9fe]",
        "[fd00:42::42]",
        "[fe80::1]",
        "100.100.100.200",
        "192.0.0.192",
        "224.0.0.1",
        "255.255.255.255",
        "[::]",
    ],
)
async def test_what_tells_a_machine_its_secrets_is_no_model_in_any_spelling(host: str) -> None:
    async with a_model(f"http://{host}/v1") as model:
        with pytest.raises(ModelRefusedError, match=r"FLYBACK_EGRESS_ALLOW|private, local or reserved") as refused:
            await ask(model)
    assert KEY not in str(refused.value)


async def test_a_name_that_leads_to_metadata_is_refused() -> None:
    async with a_model("http://models.example/v1", ["169.254.169.254"]) as model:
        with pytest.raises(ModelRefusedError):
            await ask(model)


async def test_a_name_that_was_public_gets_no_call_into_ones_own_network() -> None:
    guard = ModelGuard(AllowList(), Names([PUBLIC], [INSIDE]))
    assert [str(address) for address in await guard.addresses_of("models.example", 443)] == [PUBLIC]
    for spelling in ("models.example", "MODELS.example."):
        with pytest.raises(EgressRefusedError, match=INSIDE):
            await guard.addresses_of(spelling, 443)


async def test_a_name_of_both_worlds_is_refused_whole() -> None:
    with pytest.raises(EgressRefusedError):
        await ModelGuard(AllowList(), Names([PUBLIC, INSIDE])).addresses_of("models.example", 443)


@pytest.mark.parametrize("name", [name for name, vendor in VENDORS.items() if vendor.base_url and not vendor.local])
async def test_the_address_of_a_provider_that_everybody_knows_never_leads_inside(name: str) -> None:
    # given a server on this machine that would like to be given the key
    async with ModelServer(says("thanks")) as server:
        host = (VENDORS[name].base_url or "").partition("://")[2].partition("/")[0]
        async with a_model(server.base_url.replace("127.0.0.1", host), ["127.0.0.1"]) as model:
            with pytest.raises(ModelRefusedError, match=r"127\.0\.0\.1"):
                await ask(model)
    assert server.asked == []


async def test_what_the_operator_lists_is_called() -> None:
    async with ModelServer(says("ready")) as server:
        port = server.base_url.rpartition(":")[2].partition("/")[0]
        url = server.base_url.replace("127.0.0.1", "api.openai.com")
        async with a_model(url, ["127.0.0.1"], allowed=f"127.0.0.1:{port}") as model:
            assert await ask(model) == "ready"


async def test_a_name_that_nobody_knows_may_be_known_later() -> None:
    async with a_model("http://models.example/v1") as model:
        with pytest.raises(ModelUnavailableError, match=r"models\.example") as failed:
            await ask(model)
    assert failed.value.transient


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_neither_key_nor_prompt_follows_a_redirect_to_another_origin(status: int) -> None:
    async with ModelServer(says("thanks")) as other, ModelServer() as server:
        server.then(fails(status, location=f"{other.base_url}/chat/completions"))
        async with a_model(server.base_url, ["127.0.0.1"]) as model:
            with pytest.raises(ModelRefusedError, match="redirected to"):
                await ask(model)
    assert other.asked == []
