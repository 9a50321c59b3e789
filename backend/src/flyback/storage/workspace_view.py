"""The view `workflow_visit_workspace`: the workspace of every visit, by value.

Each row is a variable of a visit: which visit wrote it (-1: the run's inputs, or a fork's edits), and its value as JSON.
Changing this file means writing a migration, as with the tables; the statements in older migrations stay as they were.
"""

from __future__ import annotations

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


def workspace_view(dialect: str) -> str:
    """Return the statement that makes it, in the SQL of `sqlite` or `postgresql`."""
    return _VIEW.format(**(_ON_SQLITE if dialect == "sqlite" else _ON_POSTGRESQL))
