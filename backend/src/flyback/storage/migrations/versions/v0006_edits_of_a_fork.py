"""What a person wrote over the workspace after a visit, when the run was forked there."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_VIEW = """
CREATE VIEW workflow_visit_workspace AS
SELECT v.run_id, v.visit_uuid, v.sort_order, w.key AS name, {writer} AS written_by,
  CASE WHEN {writer} < 0
    THEN coalesce(
      (SELECT {value} FROM workflow_run_visits e JOIN {edits} j ON j.key = w.key
       WHERE e.run_id = v.run_id AND e.sort_order <= v.sort_order AND e.edited_json IS NOT NULL
       ORDER BY e.sort_order DESC LIMIT 1),
      (SELECT {value} FROM {inputs} j WHERE j.key = w.key))
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
    "edits": "json_each(e.edited_json)",
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
    "edits": "json_each(e.edited_json::json)",
    "data": "json_each(coalesce(s.output_json, convert_from(b.content, 'UTF8'))::json -> 'data')",
    "value": "j.value::text",
}


def upgrade() -> None:
    op.add_column("workflow_run_visits", sa.Column("edited_json", sa.Text()))
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    op.execute("DROP VIEW workflow_visit_workspace")
    op.execute(_VIEW.format(**(_ON_SQLITE if is_sqlite else _ON_POSTGRESQL)))
