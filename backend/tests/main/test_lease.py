"""The lease that an operator sets holds for all that depends on it."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from flyback.dispatch import Dispatcher
from flyback.dispatch.local import LocalDispatcher
from flyback.engine.parts import Engine
from flyback.main.product import ProductOptions, open_product
from flyback.storage.database import Database
from flyback.storage.ledger import Ledger
from kit.databases import new_url


async def test_given_a_short_lease_a_transaction_may_stand_still_for_less_than_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLYBACK_LEASE_SECONDS", "3")
    opened: list[Database] = []

    def dispatcher(engine: Engine, ledger: Ledger, database: Database) -> Dispatcher:
        opened.append(database)
        return LocalDispatcher(engine, ledger)

    async with open_product(ProductOptions(tmp_path, new_url("postgresql", tmp_path)), dispatcher):
        (database,) = opened
        asked = sa.text("SHOW idle_in_transaction_session_timeout")
        assert await database.write(lambda conn: conn.execute(asked).scalar_one()) == "2500ms"
