"""What stands above the questions of a pause, and the ways to answer it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("workflow_pauses", sa.Column("prompt", sa.Text(), nullable=False, server_default=""))
    op.add_column("workflow_pauses", sa.Column("actions_json", sa.Text(), nullable=False, server_default="[]"))
