"""Model entries as a person keeps them: keys that never come out, names that lead along, tests that choose the default."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from flyback.domain.errors import InvalidError, NotFoundError, SecretKeyMissingError
from flyback.domain.model_entry import EMBEDDED, SCRIPTED, Prices
from flyback.domain.redaction import Redactor
from flyback.providers.catalog import Catalog
from flyback.providers.chat.http_model import ChatConnections
from flyback.providers.scripted import MemoryJournal, ScriptedModel
from flyback.providers.system import RandomIds, SystemClock
from flyback.services.actor import Actor
from flyback.services.model_draft import ModelDraft
from flyback.services.model_entries import StoredEntries, check_key
from flyback.services.model_offers import offered_by_environment
from flyback.services.models import Models
from flyback.services.settings import read_settings
from flyback.storage import secrets
from flyback.storage.database import Database
from flyback.storage.secret_box import SecretBox
from kit.model_server import ModelServer, fails, says

KEY = "sk-0123456789-secret"
ME = Actor("me", "Me", "admin", "local", "local")
YOU = Actor("you", "You", "admin", "local", "local")
GLM = ModelDraft("glm", "openai-compatible", base_url="https://models.example.com/v1/", model="glm-5", api_key=KEY)


@dataclass
class Desk:
    models: Models
    catalog: Catalog
    database: Database
    redactor: Redactor
    box: SecretBox
    folder: Path

    async def default_of(self, actor: Actor) -> str:
        return (await self.database.read(lambda conn: read_settings(conn, actor.owner_id))).default_model

    async def keys_of(self, actor: Actor) -> dict[str, str | None]:
        store = StoredEntries(self.database, self.box, self.redactor)
        return {opened.entry.name: opened.api_key for opened in await store.load(actor.owner_id)}


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@asynccontextmanager
async def a_desk(folder: Path) -> AsyncGenerator[Desk]:
    database = await Database.open(f"sqlite:///{folder / 'flyback.db'}")
    clock, redactor, journal = SystemClock(), Redactor(), MemoryJournal()
    connections = ChatConnections(clock=clock, redactor=redactor)
    box = SecretBox.open(folder)
    scripted = ScriptedModel(clock=clock, journal=journal)
    catalog = Catalog(
        StoredEntries(database, box, redactor),
        built_in={EMBEDDED: scripted, SCRIPTED: scripted},
        connections=connections,
        clock=clock,
        journal=journal,
    )
    models = Models(database, catalog=catalog, box=box, redactor=redactor, clock=clock, ids=RandomIds())
    try:
        yield Desk(models, catalog, database, redactor, box, folder)
    finally:
        await connections.close()
        await database.close()


async def test_a_new_entry_is_listed_after_the_built_in_ones(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        made = await desk.models.create(ME, replace(GLM, name=" glm ", prices=Prices(1, 2)))
        listed = await desk.models.all(ME)
        assert [(view.name, view.built_in, view.is_default) for view in listed] == [
            (EMBEDDED, True, True),
            (SCRIPTED, True, False),
            ("glm", False, False),
        ]
        assert listed[2] == made == await desk.models.get(ME, made.id)
        assert (made.base_url, made.has_key, made.prices) == ("https://models.example.com/v1", True, Prices(1, 2))


async def test_a_key_is_sealed_on_disk_and_known_to_the_redaction(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        await desk.models.create(ME, GLM)
        assert await desk.keys_of(ME) == {"glm": KEY}
        assert KEY not in desk.redactor.text(f"key {KEY}")
    assert KEY.encode() not in everything_in(tmp_path)
    async with a_desk(tmp_path) as again:
        assert await again.keys_of(ME) == {"glm": KEY}
        assert KEY not in again.redactor.text(f"key {KEY}")


async def test_another_owner_sees_nothing_of_it(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        made = await desk.models.create(ME, GLM)
        assert len(await desk.models.all(YOU)) == 2
        assert await desk.keys_of(YOU) == {}
        for attempt in (
            desk.models.get(YOU, made.id),
            desk.models.update(YOU, made.id, GLM),
            desk.models.delete(YOU, made.id),
            desk.models.test(YOU, made.id),
            desk.models.set_default(YOU, made.id),
        ):
            with pytest.raises(NotFoundError):
                await attempt
        # and may have an entry of the same name
        await desk.models.create(YOU, GLM)


async def test_creating_never_takes_the_place_of_another(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        made = await desk.models.create(ME, GLM)
        for name in ("glm", made.id, EMBEDDED, SCRIPTED):
            with pytest.raises(InvalidError) as caught:
                await desk.models.create(ME, replace(GLM, name=name, model="other"))
            assert caught.value.field == "name"
        assert (await desk.models.get(ME, made.id)).model == "glm-5"


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        (replace(GLM, name="  "), "name"),
        (replace(GLM, name="a\nb"), "name"),
        (replace(GLM, provider="nobody"), "provider"),
        (replace(GLM, base_url=None), "baseUrl"),
        (replace(GLM, base_url="ftp://x/v1"), "baseUrl"),
        (replace(GLM, base_url="https://user:pw@x/v1"), "baseUrl"),
        (replace(GLM, base_url="https://x:99999/v1"), "baseUrl"),
        (replace(GLM, base_url="https://x/v1?key=1"), "baseUrl"),
        (replace(GLM, base_url="http://[::1"), "baseUrl"),
        (replace(GLM, base_url="https://x/\u200b"), "baseUrl"),
        (replace(GLM, model=" "), "model"),
        (replace(GLM, api_key="sk 1"), "apiKey"),
        (replace(GLM, api_key="sk\n1"), "apiKey"),
        (replace(GLM, api_key="ключ"), "apiKey"),
        (replace(GLM, fallbacks=["nobody"]), "fallbacks"),
        (replace(GLM, fallbacks=["glm"]), "fallbacks"),
        (replace(GLM, script=[]), "script"),
        (ModelDraft("s", SCRIPTED, script=[{"for": {"node": "a"}}]), "script"),
    ],
)
async def test_what_is_wrong_with_an_entry_is_told_with_its_field(
    tmp_path: Path, draft: ModelDraft, field: str
) -> None:
    async with a_desk(tmp_path) as desk:
        with pytest.raises(InvalidError) as caught:
            await desk.models.create(ME, draft)
        assert caught.value.field == field
        assert caught.value.fix


async def test_a_key_belongs_to_the_address_it_was_entered_for(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        made = await desk.models.create(ME, GLM)
        kept = await desk.models.update(ME, made.id, replace(GLM, api_key=None, model="glm-6"))
        assert kept.has_key
        moved = await desk.models.update(ME, made.id, replace(GLM, api_key=None, base_url="https://other.example/v1"))
        assert not moved.has_key
        assert await desk.keys_of(ME) == {"glm": None}
        back = await desk.models.update(ME, made.id, replace(GLM, api_key="sk-another-key"))
        assert back.has_key
        assert not (await desk.models.update(ME, made.id, replace(GLM, api_key=""))).has_key
        # and no key that nobody uses stays
        assert await desk.database.read(lambda conn: secrets.all_of(conn, "me")) == []


async def test_a_new_name_is_followed_by_fallbacks_and_default(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        glm = await desk.models.create(ME, replace(GLM, is_default=True))
        other = await desk.models.create(ME, replace(GLM, name="other", fallbacks=["glm", EMBEDDED]))
        renamed = await desk.models.update(ME, glm.id, replace(GLM, name="glm-new"))
        assert renamed.is_default
        assert (await desk.models.get(ME, other.id)).fallbacks == ("glm-new", EMBEDDED)
        await desk.models.delete(ME, glm.id)
        assert (await desk.models.get(ME, other.id)).fallbacks == (EMBEDDED,)
        assert await desk.default_of(ME) == EMBEDDED


async def test_built_in_models_stay_as_they_are_but_can_be_the_default(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        with pytest.raises(InvalidError, match="built in"):
            await desk.models.update(ME, EMBEDDED, GLM)
        with pytest.raises(InvalidError, match="built in"):
            await desk.models.delete(ME, SCRIPTED)
        assert (await desk.models.set_default(ME, SCRIPTED)).is_default
        assert (await desk.models.test(ME, SCRIPTED)).ok


async def test_the_first_entry_that_answers_a_test_becomes_the_default(tmp_path: Path) -> None:
    async with ModelServer(says("ready")) as server, a_desk(tmp_path) as desk:
        first = await desk.models.create(ME, replace(GLM, base_url=server.base_url))
        second = await desk.models.create(ME, replace(GLM, name="second", base_url=server.base_url))
        tested = await desk.models.test(ME, first.id)
        assert (tested.ok, tested.text, tested.model, tested.error) == (True, "ready", "tiny-1", None)
        assert tested.usage.input_tokens == 11
        assert await desk.default_of(ME) == "glm"
        await desk.models.test(ME, second.id)
        assert await desk.default_of(ME) == "glm"
        assert (await desk.models.get(ME, first.id)).tested_at is not None
        # and each test has a key of its own
        keys = {asked.headers["idempotency-key"] for asked in server.asked}
        assert len(keys) == 2


async def test_a_test_that_fails_says_how_and_shows_no_key(tmp_path: Path) -> None:
    async with ModelServer(fails(401, f"bad key {KEY}")) as server, a_desk(tmp_path) as desk:
        made = await desk.models.create(ME, replace(GLM, base_url=server.base_url))
        tested = await desk.models.test(ME, made.id)
        assert not tested.ok
        assert tested.error is not None
        assert (tested.error.code, KEY in tested.error.message) == ("MODEL_REFUSED", False)
        assert await desk.default_of(ME) == EMBEDDED


async def test_a_change_is_used_by_the_very_next_call(tmp_path: Path) -> None:
    async with ModelServer(says("one")) as server, a_desk(tmp_path) as desk:
        made = await desk.models.create(ME, replace(GLM, base_url=server.base_url))
        await desk.catalog.find("glm", owner_id="me")
        await desk.models.update(ME, made.id, replace(GLM, base_url=server.base_url, api_key="sk-another-key"))
        await desk.models.test(ME, made.id)
        assert server.asked[-1].headers["authorization"] == "Bearer sk-another-key"


async def test_given_stored_secrets_and_a_lost_key_the_program_does_not_start(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        await check_key(desk.database, desk.box)
        await desk.models.create(ME, GLM)
        await check_key(desk.database, desk.box)
    (tmp_path / "secret.key").unlink()
    async with a_desk(tmp_path) as desk:
        with pytest.raises(SecretKeyMissingError):
            await check_key(desk.database, desk.box)


def test_keys_in_the_environment_are_offered_and_not_read() -> None:
    environment = {"OPENAI_API_KEY": KEY, "GEMINI_API_KEY": KEY, "ANTHROPIC_API_KEY": " ", "PATH": "/bin"}
    offered = offered_by_environment(environment)
    assert [(offer.provider, offer.variable) for offer in offered] == [
        ("openai", "OPENAI_API_KEY"),
        ("google", "GEMINI_API_KEY"),
    ]
    assert KEY not in str(offered)
