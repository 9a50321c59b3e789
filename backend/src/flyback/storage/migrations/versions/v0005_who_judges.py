"""Which workers look for runs of the dead."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("workers", sa.Column("judges", sa.Boolean(), nullable=False, server_default=sa.text("false")))
