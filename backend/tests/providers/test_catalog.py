"""The catalogue: models by name, fallbacks behind them, and how soon a change is seen."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from pydantic import JsonValue

from flyback.domain.errors import (
    ConfigInvalidError,
    ModelRefusedError,
    ModelTimeoutError,
    ModelUnavailableError,
    ModelUnknownError,
    NodeError,
)
from flyback.domain.graph import NodeId
from flyback.domain.model_entry import EMBEDDED, SCRIPTED, ModelEntry, Prices
from flyback.domain.redaction import Redactor
from flyback.domain.run import RunId, Usage
from flyback.engine.ports import CallSite, ChatModel, ChatReply, ChatRequest, Decider, Message
from flyback.providers.catalog import Catalog, OpenedEntry
from flyback.providers.chat.http_model import ChatConnections, HttpChatModel
from flyback.providers.fallback import ModelWithFallbacks
from flyback.providers.scripted import MemoryJournal, ScriptedModel
from kit.clock import HandClock

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REQUEST = ChatRequest([Message("user", "hi")], CallSite(RunId("r"), NodeId("w"), None, "node", 1))


class Saying:
    """A model that gives these pieces and then answers or fails."""

    decider: Decider | None = None

    def __init__(self, name: str, *pieces: str, error: NodeError | None = None, has_price: bool = False) -> None:
        self.name = name
        self.has_price = has_price
        self._pieces = pieces
        self._error = error
        self.asked: list[ChatRequest] = []

    async def stream(self, request: ChatRequest) -> AsyncGenerator[str | ChatReply, None]:
        self.asked.append(request)
        for piece in self._pieces:
            yield piece
        if self._error is not None:
            raise self._error
        yield ChatReply("".join(self._pieces), "stop", Usage(calls=1), self.name)


class Shelf:
    """The stored entries, as a list."""

    def __init__(self, *entries: OpenedEntry) -> None:
        self.entries = list(entries)
        self.loads = 0

    async def load(self, owner_id: str) -> Sequence[OpenedEntry]:
        self.loads += 1
        return [opened for opened in self.entries if opened.entry.owner_id == owner_id]


def entry(
    name: str,
    *,
    provider: str = SCRIPTED,
    says: str = "hi",
    fallbacks: Sequence[str] = (),
    prices: Prices | None = None,
    owner: str = "me",
) -> ModelEntry:
    script: JsonValue = [{"for": {"node": "w"}, "replies": [{"text": says}], "repeatLast": True}]
    return ModelEntry(
        id=f"id-{name}",
        owner_id=owner,
        name=name,
        provider=provider,
        base_url=None if provider in (SCRIPTED, EMBEDDED) else "http://127.0.0.1:9/v1",
        model="m",
        secret_id=None,
        prices=prices,
        fallbacks=tuple(fallbacks),
        script=script if provider == SCRIPTED else None,
        tested_at=None,
        created_at=NOW,
        updated_at=NOW,
    )


def catalog_of(shelf: Shelf, clock: HandClock | None = None) -> Catalog:
    clock = clock or HandClock()
    journal = MemoryJournal()
    return Catalog(
        shelf,
        built_in={EMBEDDED: Saying(EMBEDDED, "inside"), SCRIPTED: ScriptedModel(clock=clock, journal=journal)},
        connections=ChatConnections(clock=clock, redactor=Redactor()),
        clock=clock,
        journal=journal,
    )


async def answer_of(model: ChatModel) -> ChatReply:
    async for part in model.stream(REQUEST):
        if isinstance(part, ChatReply):
            return part
    raise AssertionError


async def test_a_model_is_found_by_its_name_and_by_its_id() -> None:
    catalog = catalog_of(Shelf(OpenedEntry(entry("mine", says="it is me"))))
    for name in ("mine", "id-mine"):
        assert (await answer_of(await catalog.find(name, owner_id="me"))).text == "it is me"
    assert (await catalog.find(EMBEDDED, owner_id="me")).name == EMBEDDED
    assert (await catalog.find(SCRIPTED, owner_id="anybody")).name == SCRIPTED


async def test_a_foreign_or_unknown_name_is_a_fault_that_tells_the_known_ones() -> None:
    catalog = catalog_of(Shelf(OpenedEntry(entry("mine")), OpenedEntry(entry("yours", owner="you"))))
    for name in ("yours", "id-yours", "Mine", ""):
        with pytest.raises(ModelUnknownError) as caught:
            await catalog.find(name, owner_id="me")
        assert not caught.value.transient
        assert "'mine'" in (caught.value.fix or "")
        assert "yours" not in (caught.value.fix or "")


async def test_entries_are_read_again_after_a_moment_and_at_once_after_a_change() -> None:
    clock, shelf = HandClock(), Shelf(OpenedEntry(entry("mine", says="before")))
    catalog = catalog_of(shelf, clock)
    first = await catalog.find("mine", owner_id="me")
    assert await catalog.find("mine", owner_id="me") is first
    assert shelf.loads == 1
    # when another process changes it, then it is seen after two seconds
    shelf.entries[0] = OpenedEntry(entry("mine", says="after"))
    assert await catalog.find("mine", owner_id="me") is first
    await clock.advance(2)
    assert (await answer_of(await catalog.find("mine", owner_id="me"))).text == "after"
    # when this process changes it, then it is seen at once
    shelf.entries[0] = OpenedEntry(entry("mine", says="now"))
    catalog.forget("me")
    assert (await answer_of(await catalog.find("mine", owner_id="me"))).text == "now"


async def test_a_new_entry_is_found_at_once_and_an_unchanged_one_keeps_its_model() -> None:
    clock, shelf = HandClock(), Shelf(OpenedEntry(entry("old")))
    catalog = catalog_of(shelf, clock)
    old = await catalog.find("old", owner_id="me")
    shelf.entries.append(OpenedEntry(entry("new")))
    assert (await catalog.find("new", owner_id="me")).name == "new"
    assert await catalog.find("old", owner_id="me") is old


async def test_an_entry_of_a_provider_behind_http_and_one_of_the_inner_model_have_their_own_prices() -> None:
    prices = Prices(1, 2, "EUR")
    remote = entry("remote", provider="openai-compatible", prices=prices)
    inner = entry("inner", provider=EMBEDDED, prices=prices)
    catalog = catalog_of(Shelf(OpenedEntry(remote, api_key="k" * 10), OpenedEntry(inner)))
    model = await catalog.find("remote", owner_id="me")
    assert isinstance(model, HttpChatModel)
    assert model.has_price
    named = await catalog.find("inner", owner_id="me")
    assert (named.name, named.has_price, (await answer_of(named)).usage.currency) == ("inner", True, "EUR")


async def test_an_entry_whose_key_or_provider_is_in_trouble_says_so_and_spares_the_others() -> None:
    locked = OpenedEntry(entry("locked"), trouble="its key is sealed with another key.")
    strange = OpenedEntry(entry("strange", provider="of-tomorrow"))
    catalog = catalog_of(Shelf(locked, strange, OpenedEntry(entry("fine"))))
    for name, said in (("locked", "sealed with another"), ("strange", "of-tomorrow")):
        with pytest.raises(ConfigInvalidError, match=said):
            await catalog.find(name, owner_id="me")
    assert (await catalog.find("fine", owner_id="me")).name == "fine"


async def test_fallbacks_are_asked_in_order_and_what_is_not_there_is_passed_over() -> None:
    broken = replace(entry("broken", fallbacks=["gone", "next", EMBEDDED]), script=[])
    catalog = catalog_of(Shelf(OpenedEntry(broken), OpenedEntry(entry("next", says="from the next"))))
    reply = await answer_of(await catalog.find("broken", owner_id="me"))
    assert reply.text == "from the next"
    assert "'broken' could not answer (SCRIPT_EXHAUSTED)" in reply.notes[0]
    with pytest.raises(NodeError):
        await answer_of(await catalog.bare("id-broken", owner_id="me"))


# Fallbacks by themselves.


@pytest.mark.parametrize("error", [ModelUnavailableError("down"), ModelTimeoutError("slow"), ModelRefusedError("no")])
async def test_given_a_model_that_cannot_answer_the_next_one_does_and_the_cause_is_noted(error: NodeError) -> None:
    model = ModelWithFallbacks(Saying("a", error=error), [Saying("b", "from b", has_price=True)])
    reply = await answer_of(model)
    assert (model.name, model.has_price, reply.model, reply.text) == ("a", False, "b", "from b")
    assert error.code in reply.notes[0]


async def test_given_none_that_can_answer_the_failure_tells_of_all() -> None:
    last = ModelUnavailableError("c is down")
    last.retry_after_seconds = 9
    model = ModelWithFallbacks(
        Saying("a", error=ModelRefusedError("a says no")), [Saying("b", error=ModelTimeoutError("b is slow"))]
    )
    model = ModelWithFallbacks(model, [Saying("c", error=last)])
    with pytest.raises(ModelUnavailableError, match=r"c is down Before it: .*b is slow.*a says no") as caught:
        await answer_of(model)
    assert caught.value.retry_after_seconds == 9


async def test_given_a_stream_that_broke_half_way_no_other_model_goes_on_with_it() -> None:
    other = Saying("b", "whole")
    model = ModelWithFallbacks(Saying("a", "half", error=ModelUnavailableError("broke")), [other])
    with pytest.raises(ModelUnavailableError):
        await answer_of(model)
    assert other.asked == []


async def test_given_a_first_model_that_answers_no_other_is_asked() -> None:
    other = Saying("b", "whole")
    reply = await answer_of(ModelWithFallbacks(Saying("a", "mine"), [other]))
    assert (reply.text, reply.notes, other.asked) == ("mine", (), [])
