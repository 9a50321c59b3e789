"""What an API key is for, and which browser a session belongs to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.add_column("api_keys", sa.Column("scope", sa.Text(), nullable=False, server_default="admin"))
    op.add_column("sessions", sa.Column("client", sa.Text(), nullable=False, server_default=""))
