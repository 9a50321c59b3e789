"""The tables, one schema for SQLite and PostgreSQL.

State is JSON text: it is written and read by our own encoder, never by the driver, so that both databases hold the same
bytes. Times are ISO-8601 text in UTC with `Z` and milliseconds. Rows that belong to somebody carry `owner_id`.
Changing this file means writing a migration.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_RunKey = BigInteger().with_variant(Integer, "sqlite")


def _run_id(*, primary_key: bool = False) -> Column[int]:
    owner = ForeignKey("workflow_runs.id", ondelete="CASCADE")
    return Column("run_id", _RunKey, owner, nullable=False, primary_key=primary_key)


def _named_blobs(table: str) -> Index:
    """For the question whether anything names a blob; few rows do."""
    some = text("output_blob IS NOT NULL")
    return Index(f"ix_{table}_output_blob", "output_blob", sqlite_where=some, postgresql_where=some)


def _listed_runs() -> Index:
    """For the pages of somebody's runs and their number: those inside others are not listed."""
    listed = text("root_run_id IS NULL")
    return Index("ix_workflow_runs_listed", "owner_id", "id", sqlite_where=listed, postgresql_where=listed)


workflows = Table(
    "workflows",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False, server_default=""),
    Column("graph_data", Text, nullable=False),
    Column("mode", Text, nullable=False, server_default="DAG"),
    Column("planner_model_id", Text),
    Column(
        "settings", Text, nullable=False, server_default="{}"
    ),  # maxVisits, budget, settings and the keys we do not know
    Column("revision", Integer, nullable=False, server_default="1"),
    Column("sample_id", Text),
    Column("deleted_at", Text),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    Index(None, "owner_id", "updated_at"),
)

workflow_revisions = Table(
    "workflow_revisions",
    metadata,
    Column("id", _RunKey, primary_key=True, autoincrement=True),
    Column("workflow_id", Text, ForeignKey("workflows.id", ondelete="CASCADE"), nullable=False),
    Column("revision", Integer, nullable=False),
    Column("document", Text, nullable=False),  # the whole workflow as on the wire
    Column("note", Text),
    Column("created_at", Text, nullable=False),
    UniqueConstraint("workflow_id", "revision"),
)

workflow_versions = Table(
    "workflow_versions",
    metadata,
    Column("workflow_id", Text, ForeignKey("workflows.id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("graph_data", Text, nullable=False),
    Column("mode", Text, nullable=False),
    Column("document", Text, nullable=False),
    Column("note", Text, nullable=False, server_default=""),
    Column("published_at", Text, nullable=False),
)

workflow_runs = Table(
    "workflow_runs",
    metadata,
    Column("id", _RunKey, primary_key=True, autoincrement=True),
    Column("run_uuid", Text, nullable=False, unique=True),
    Column("owner_id", Text, nullable=False),
    Column("workflow_id", Text),  # no foreign key: history outlives the workflow
    Column("workflow_name", Text, nullable=False, server_default=""),
    Column("version", Integer),
    Column("mode", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("graph_data", Text, nullable=False),
    Column("inputs_json", Text, nullable=False),
    Column("options_json", Text, nullable=False),  # engine RunOptions, as settled at acceptance
    Column("outputs_json", Text),
    Column("warnings_json", Text),
    Column("usage_json", Text),
    Column("visit_count", Integer),
    Column("error_code", Text),
    Column("error_msg", Text),
    Column("error_json", Text),  # node, field, fix, path, partial
    Column("parent_run_id", Text),
    # Of a sub-run: the run that everything is driven in, and where in its parent it belongs.
    Column("root_run_id", Text),
    Column("parent_node_id", Text),
    Column("parent_visit_uuid", Text),
    Column("item_index", Integer),
    Column("item_count", Integer),
    Column("forked_from_visit", Text),
    # Who drives it, and how far it came.
    Column("epoch", Integer, nullable=False, server_default="0"),
    Column("segment", Integer, nullable=False, server_default="0"),
    Column("step", Integer, nullable=False, server_default="0"),
    Column("last_event", Integer, nullable=False, server_default="0"),
    Column("worker_id", Text),
    Column("step_started", Boolean, nullable=False, server_default=text("false")),
    Column("deaths", Integer, nullable=False, server_default="0"),  # of drivers at the present step
    Column("created_at", Text, nullable=False),
    Column("started_at", Text),
    Column("finished_at", Text),
    _listed_runs(),
    Index(None, "workflow_id", "id"),
    Index(None, "status"),
    Index(None, "parent_run_id"),
    Index(None, "root_run_id"),
)

workflow_run_nodes = Table(
    "workflow_run_nodes",
    metadata,
    _run_id(primary_key=True),
    Column("node_id", Text, primary_key=True),
    Column("node_type", Text, nullable=False),
    Column("node_label", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("attempt", Integer, nullable=False, server_default="0"),
    Column("inputs_json", Text),
    Column("output_json", Text),
    Column("output_blob", Text),
    Column("handle", Text),
    Column("error_msg", Text),
    Column("error_json", Text),
    Column("usage_json", Text),
    Column("started_at", Text),
    Column("finished_at", Text),
    _named_blobs("workflow_run_nodes"),
)

workflow_run_visits = Table(
    "workflow_run_visits",
    metadata,
    Column("id", _RunKey, primary_key=True, autoincrement=True),
    _run_id(),
    Column("visit_uuid", Text, nullable=False, unique=True),
    Column("node_id", Text, nullable=False),
    Column("node_type", Text, nullable=False),
    Column("node_label", Text, nullable=False),
    Column("iter_seq", Integer, nullable=False),
    Column("from_visit_uuid", Text),
    Column("from_node_id", Text),
    Column("on_canvas", Boolean, nullable=False),
    Column("variables_json", Text),  # the readable snapshot, at most 64 KiB, written with the decision or the end
    Column("variables_truncated", Boolean, nullable=False, server_default=text("false")),
    Column("writers_json", Text),  # workspace key to the sort_order of the visit that wrote it
    Column("output_json", Text),
    Column("output_blob", Text),  # the hash of an output too large for the row
    Column("handle", Text),
    Column("decision_json", Text),
    Column("status", Text, nullable=False),
    Column("error_msg", Text),
    Column("error_json", Text),
    Column("sort_order", Integer, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("usage_json", Text),
    Column("origin_visit_uuid", Text),
    Column("edited_json", Text),  # what a person wrote over the workspace after it, when the run was forked
    Column("started_at", Text),
    Column("finished_at", Text),
    Column("created_at", Text, nullable=False),
    UniqueConstraint("run_id", "sort_order"),
    Index(None, "run_id"),
    Index(None, "run_id", "node_id"),
    _named_blobs("workflow_run_visits"),
)

workflow_run_events = Table(
    "workflow_run_events",
    metadata,
    _run_id(primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("type", Text, nullable=False),
    Column("data_json", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    sqlite_with_rowid=False,
)

workflow_pauses = Table(
    "workflow_pauses",
    metadata,
    Column("id", Text, primary_key=True),
    _run_id(),
    Column("node_id", Text, nullable=False),
    Column("visit_uuid", Text),
    Column("turn_id", Text),
    Column("kind", Text, nullable=False),
    Column("prompt", Text, nullable=False, server_default=""),
    Column("questions_json", Text, nullable=False),
    Column("actions_json", Text, nullable=False, server_default="[]"),
    Column("state", Text),
    Column("answers_json", Text),
    Column("action", Text),
    Column("status", Text, nullable=False),
    Column("on_timeout", Text),
    Column("expires_at", Text),
    Column("created_at", Text, nullable=False),
    Column("answered_at", Text),
    Column("answered_by", Text),
    Index(None, "run_id"),
    Index(None, "status"),
)

workflow_visit_steps = Table(
    "workflow_visit_steps",
    metadata,
    Column("id", _RunKey, primary_key=True, autoincrement=True),
    _run_id(),
    Column("node_id", Text, nullable=False),
    Column("visit_uuid", Text),
    Column("role", Text, nullable=False),
    Column("n", Integer, nullable=False),
    Column("kind", Text, nullable=False),
    # request, response, model, usage, latency, attempt, error; in a row of the kind `journal` how far a node's work has come
    Column("call_json", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Index(None, "run_id", "node_id", "role"),
    Index(None, "visit_uuid"),
)

blobs = Table(
    "blobs",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("content", LargeBinary, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("created_at", Text, nullable=False),
)

workers = Table(
    "workers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("host", Text, nullable=False),
    Column("started_at", Text, nullable=False),
    Column("beat_at", Float, nullable=False),  # seconds by the database's clock
    Column("judges", Boolean, nullable=False, server_default=text("false")),  # whether it takes up what the dead left
)

ai_models = Table(
    "ai_models",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("provider", Text, nullable=False),
    Column("base_url", Text),
    Column("model", Text, nullable=False, server_default=""),
    Column("secret_id", Text),
    Column("prices_json", Text),
    Column("fallbacks_json", Text, nullable=False, server_default="[]"),
    Column("script_json", Text),
    Column("tested_at", Text),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    UniqueConstraint("owner_id", "name"),
)

skills = Table(
    "skills",
    metadata,
    Column("id", Text, primary_key=True),  # the folder's name
    Column("owner_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
)

skill_versions = Table(  # contents that a skill's folder has had, oldest first
    "skill_versions",
    metadata,
    Column("id", _RunKey, primary_key=True, autoincrement=True),
    Column("skill_id", Text, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    UniqueConstraint("skill_id", "content_hash"),
)

run_skills = Table(  # the version of each skill that a run works with
    "run_skills",
    metadata,
    _run_id(primary_key=True),
    Column("skill_id", Text, primary_key=True),
    Column("content_hash", Text, nullable=False),
)

mcp_servers = Table(
    "mcp_servers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("secret_id", Text),
    Column("tools_hash", Text),
    Column("settings_json", Text, nullable=False, server_default="{}"),
    Column("created_at", Text, nullable=False),
    Column("updated_at", Text, nullable=False),
    UniqueConstraint("owner_id", "name"),
)

secrets = Table(
    "secrets",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner_id", Text, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("created_at", Text, nullable=False),
)

users = Table(
    "users",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("created_at", Text, nullable=False),
)

sign_in_links = Table(
    "sign_in_links",
    metadata,
    Column("secret_hash", Text, primary_key=True),
    Column("user_id", Text, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("created_at", Text, nullable=False),
    Column("used_at", Text),
)

sessions = Table(
    "sessions",
    metadata,
    Column("token_hash", Text, primary_key=True),
    Column("user_id", Text, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("csrf_token", Text, nullable=False),
    Column("client", Text, nullable=False, server_default=""),  # what the browser says of itself
    Column("created_at", Text, nullable=False),
    Column("expires_at", Text, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("user_id", Text, ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("key_hash", Text, nullable=False, unique=True),
    Column("hint", Text, nullable=False),  # the first characters, for people
    Column("scope", Text, nullable=False, server_default="admin"),
    Column("created_at", Text, nullable=False),
    Column("expires_at", Text),
    Column("last_used_at", Text),
)

settings = Table(
    "settings",
    metadata,
    Column("owner_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value_json", Text, nullable=False),
)

audit_log = Table(
    "audit_log",
    metadata,
    Column("id", _RunKey, primary_key=True, autoincrement=True),
    Column("actor_id", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("details_json", Text, nullable=False, server_default="{}"),
    Column("created_at", Text, nullable=False),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("owner_id", Text, primary_key=True),
    Column("path", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("body_hash", Text, nullable=False),
    Column("run_uuid", Text, nullable=False),
    Column("created_at", Text, nullable=False),
)
