"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

_VIEW = """
CREATE VIEW workflow_visit_workspace AS
SELECT v.run_id, v.visit_uuid, v.sort_order, w.key AS name, {writer} AS written_by,
  CASE WHEN {writer} < 0
    THEN (SELECT {value} FROM {inputs} j WHERE j.key = w.key)
    ELSE (SELECT {value} FROM {data} j
          WHERE s.node_id || '__' || j.key = w.key OR (s.node_type = 'userInput' AND j.key = w.key))
  END AS value_json
FROM workflow_run_visits v
JOIN workflow_runs r ON r.id = v.run_id
JOIN {writers} w ON true
LEFT JOIN workflow_run_visits s ON s.run_id = v.run_id AND s.sort_order = {writer}
LEFT JOIN blobs b ON b.hash = s.output_blob
"""
"""The workspace of every visit, by value: which visit wrote each variable, and what it wrote."""

_ON_SQLITE = {
    "writer": "w.value",
    "writers": "json_each(v.writers_json)",
    "inputs": "json_each(r.inputs_json)",
    "data": "json_each(coalesce(s.output_json, CAST(b.content AS TEXT)), '$.data')",
    "value": (
        "CASE j.type WHEN 'text' THEN json_quote(j.value) WHEN 'null' THEN 'null' "
        "WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE CAST(j.value AS TEXT) END"
    ),
}
_ON_POSTGRESQL = {
    "writer": "w.value::int",
    "writers": "json_each_text(v.writers_json::json)",
    "inputs": "json_each(r.inputs_json::json)",
    "data": "json_each(coalesce(s.output_json, convert_from(b.content, 'UTF8'))::json -> 'data')",
    "value": "j.value::text",
}


def upgrade() -> None:
    _create_tables()
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    op.execute(_VIEW.format(**(_ON_SQLITE if is_sqlite else _ON_POSTGRESQL)))


def _create_tables() -> None:
    op.create_table(
        "ai_models",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("base_url", sa.Text()),
        sa.Column("model", sa.Text(), server_default="", nullable=False),
        sa.Column("secret_id", sa.Text()),
        sa.Column("prices_json", sa.Text()),
        sa.Column("fallbacks_json", sa.Text(), server_default="[]", nullable=False),
        sa.Column("script_json", sa.Text()),
        sa.Column("tested_at", sa.Text()),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ai_models")),
        sa.UniqueConstraint("owner_id", "name", name=op.f("uq_ai_models_owner_id_name")),
    )
    op.create_table(
        "audit_log",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("actor_id", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("details_json", sa.Text(), server_default="{}", nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_log")),
    )
    op.create_table(
        "blobs",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_blobs")),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("body_hash", sa.Text(), nullable=False),
        sa.Column("run_uuid", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("owner_id", "path", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_table(
        "mcp_servers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret_id", sa.Text()),
        sa.Column("tools_hash", sa.Text()),
        sa.Column("settings_json", sa.Text(), server_default="{}", nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mcp_servers")),
        sa.UniqueConstraint("owner_id", "name", name=op.f("uq_mcp_servers_owner_id_name")),
    )
    op.create_table(
        "secrets",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_secrets")),
    )
    op.create_table(
        "settings",
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value_json", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("owner_id", "name", name=op.f("pk_settings")),
    )
    op.create_table(
        "skills",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_skills")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("name", name=op.f("uq_users_name")),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("started_at", sa.Text(), nullable=False),
        sa.Column("beat_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    op.create_table(
        "workflow_runs",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("run_uuid", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("workflow_id", sa.Text()),
        sa.Column("workflow_name", sa.Text(), server_default="", nullable=False),
        sa.Column("version", sa.Integer()),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("graph_data", sa.Text(), nullable=False),
        sa.Column("inputs_json", sa.Text(), nullable=False),
        sa.Column("options_json", sa.Text(), nullable=False),
        sa.Column("outputs_json", sa.Text()),
        sa.Column("warnings_json", sa.Text()),
        sa.Column("usage_json", sa.Text()),
        sa.Column("visit_count", sa.Integer()),
        sa.Column("error_code", sa.Text()),
        sa.Column("error_msg", sa.Text()),
        sa.Column("error_json", sa.Text()),
        sa.Column("parent_run_id", sa.Text()),
        sa.Column("forked_from_visit", sa.Text()),
        sa.Column("epoch", sa.Integer(), server_default="0", nullable=False),
        sa.Column("segment", sa.Integer(), server_default="0", nullable=False),
        sa.Column("step", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_event", sa.Integer(), server_default="0", nullable=False),
        sa.Column("worker_id", sa.Text()),
        sa.Column("step_started", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("deaths", sa.Integer(), server_default="0", nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("started_at", sa.Text()),
        sa.Column("finished_at", sa.Text()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workflow_runs")),
        sa.UniqueConstraint("run_uuid", name=op.f("uq_workflow_runs_run_uuid")),
    )
    op.create_index(op.f("ix_workflow_runs_owner_id_id"), "workflow_runs", ["owner_id", "id"])
    op.create_index(op.f("ix_workflow_runs_status"), "workflow_runs", ["status"])
    op.create_index(op.f("ix_workflow_runs_workflow_id_id"), "workflow_runs", ["workflow_id", "id"])
    op.create_table(
        "workflows",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("graph_data", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), server_default="DAG", nullable=False),
        sa.Column("planner_model_id", sa.Text()),
        sa.Column("settings", sa.Text(), server_default="{}", nullable=False),
        sa.Column("revision", sa.Integer(), server_default="1", nullable=False),
        sa.Column("sample_id", sa.Text()),
        sa.Column("deleted_at", sa.Text()),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workflows")),
    )
    op.create_index(op.f("ix_workflows_owner_id_updated_at"), "workflows", ["owner_id", "updated_at"])
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("key_hash", sa.Text(), nullable=False),
        sa.Column("hint", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.Text()),
        sa.Column("last_used_at", sa.Text()),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_api_keys_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("key_hash", name=op.f("uq_api_keys_key_hash")),
    )
    op.create_table(
        "sessions",
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("csrf_token", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sessions_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_sessions")),
    )
    op.create_table(
        "sign_in_links",
        sa.Column("secret_hash", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("used_at", sa.Text()),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sign_in_links_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("secret_hash", name=op.f("pk_sign_in_links")),
    )
    op.create_table(
        "workflow_pauses",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("visit_uuid", sa.Text()),
        sa.Column("turn_id", sa.Text()),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("questions_json", sa.Text(), nullable=False),
        sa.Column("state", sa.Text()),
        sa.Column("answers_json", sa.Text()),
        sa.Column("action", sa.Text()),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("on_timeout", sa.Text()),
        sa.Column("expires_at", sa.Text()),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.Column("answered_at", sa.Text()),
        sa.Column("answered_by", sa.Text()),
        sa.ForeignKeyConstraint(
            ["run_id"], ["workflow_runs.id"], name=op.f("fk_workflow_pauses_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workflow_pauses")),
    )
    op.create_index(op.f("ix_workflow_pauses_run_id"), "workflow_pauses", ["run_id"])
    op.create_index(op.f("ix_workflow_pauses_status"), "workflow_pauses", ["status"])
    op.create_table(
        "workflow_revisions",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("workflow_id", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("note", sa.Text()),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workflow_id"], ["workflows.id"], name=op.f("fk_workflow_revisions_workflow_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workflow_revisions")),
        sa.UniqueConstraint("workflow_id", "revision", name=op.f("uq_workflow_revisions_workflow_id_revision")),
    )
    op.create_table(
        "workflow_run_events",
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("data_json", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["workflow_runs.id"], name=op.f("fk_workflow_run_events_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "seq", name=op.f("pk_workflow_run_events")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "workflow_run_nodes",
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("node_type", sa.Text(), nullable=False),
        sa.Column("node_label", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("inputs_json", sa.Text()),
        sa.Column("output_json", sa.Text()),
        sa.Column("output_blob", sa.Text()),
        sa.Column("handle", sa.Text()),
        sa.Column("error_msg", sa.Text()),
        sa.Column("error_json", sa.Text()),
        sa.Column("usage_json", sa.Text()),
        sa.Column("started_at", sa.Text()),
        sa.Column("finished_at", sa.Text()),
        sa.ForeignKeyConstraint(
            ["run_id"], ["workflow_runs.id"], name=op.f("fk_workflow_run_nodes_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "node_id", name=op.f("pk_workflow_run_nodes")),
    )
    op.create_table(
        "workflow_run_visits",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("visit_uuid", sa.Text(), nullable=False),
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("node_type", sa.Text(), nullable=False),
        sa.Column("node_label", sa.Text(), nullable=False),
        sa.Column("iter_seq", sa.Integer(), nullable=False),
        sa.Column("from_visit_uuid", sa.Text()),
        sa.Column("from_node_id", sa.Text()),
        sa.Column("on_canvas", sa.Boolean(), nullable=False),
        sa.Column("variables_json", sa.Text()),
        sa.Column("variables_truncated", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("writers_json", sa.Text()),
        sa.Column("output_json", sa.Text()),
        sa.Column("output_blob", sa.Text()),
        sa.Column("handle", sa.Text()),
        sa.Column("decision_json", sa.Text()),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("error_msg", sa.Text()),
        sa.Column("error_json", sa.Text()),
        sa.Column("sort_order", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("usage_json", sa.Text()),
        sa.Column("origin_visit_uuid", sa.Text()),
        sa.Column("started_at", sa.Text()),
        sa.Column("finished_at", sa.Text()),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["workflow_runs.id"], name=op.f("fk_workflow_run_visits_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workflow_run_visits")),
        sa.UniqueConstraint("run_id", "sort_order", name=op.f("uq_workflow_run_visits_run_id_sort_order")),
        sa.UniqueConstraint("visit_uuid", name=op.f("uq_workflow_run_visits_visit_uuid")),
    )
    op.create_index(op.f("ix_workflow_run_visits_run_id"), "workflow_run_visits", ["run_id"])
    op.create_index(op.f("ix_workflow_run_visits_run_id_node_id"), "workflow_run_visits", ["run_id", "node_id"])
    op.create_table(
        "workflow_versions",
        sa.Column("workflow_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("graph_data", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("published_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workflow_id"], ["workflows.id"], name=op.f("fk_workflow_versions_workflow_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("workflow_id", "version", name=op.f("pk_workflow_versions")),
    )
    op.create_table(
        "workflow_visit_steps",
        sa.Column("id", _KEY, autoincrement=True, nullable=False),
        sa.Column("run_id", _KEY, nullable=False),
        sa.Column("node_id", sa.Text(), nullable=False),
        sa.Column("visit_uuid", sa.Text()),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("call_json", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["workflow_runs.id"], name=op.f("fk_workflow_visit_steps_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workflow_visit_steps")),
    )
    op.create_index(
        op.f("ix_workflow_visit_steps_run_id_node_id_role"), "workflow_visit_steps", ["run_id", "node_id", "role"]
    )
    op.create_index(op.f("ix_workflow_visit_steps_visit_uuid"), "workflow_visit_steps", ["visit_uuid"])
