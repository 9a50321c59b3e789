"""Where a sub-run belongs: the run that it is driven in, and its place in its parent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    for name in ("root_run_id", "parent_node_id", "parent_visit_uuid"):
        op.add_column("workflow_runs", sa.Column(name, sa.Text()))
    for name in ("item_index", "item_count"):
        op.add_column("workflow_runs", sa.Column(name, sa.Integer()))
    for name in ("parent_run_id", "root_run_id"):
        op.create_index(f"ix_workflow_runs_{name}", "workflow_runs", [name])
