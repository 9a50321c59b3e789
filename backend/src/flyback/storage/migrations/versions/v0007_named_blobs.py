"""Finds out quickly whether anything names a blob."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    for table in ("workflow_run_nodes", "workflow_run_visits"):
        some = sa.text("output_blob IS NOT NULL")
        op.create_index(f"ix_{table}_output_blob", table, ["output_blob"], sqlite_where=some, postgresql_where=some)
