"""Counts and lists somebody's runs from an index alone: without those inside others, which no list shows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    listed = sa.text("root_run_id IS NULL")
    op.create_index(
        "ix_workflow_runs_listed", "workflow_runs", ["owner_id", "id"], sqlite_where=listed, postgresql_where=listed
    )
    op.drop_index("ix_workflow_runs_owner_id_id", "workflow_runs")
