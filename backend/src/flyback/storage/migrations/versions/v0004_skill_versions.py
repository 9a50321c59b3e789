"""The contents that a skill has had, and which of them a run works with."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "skill_versions",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("skill_id", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_skill_versions")),
        sa.UniqueConstraint("skill_id", "content_hash", name=op.f("uq_skill_versions_skill_id_content_hash")),
    )
    op.create_table(
        "run_skills",
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("skill_id", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["workflow_runs.id"], name=op.f("fk_run_skills_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "skill_id", name=op.f("pk_run_skills")),
    )
