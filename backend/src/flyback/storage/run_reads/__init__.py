"""Reads runs for people: lists, details, visits, node records, calls, workspaces, events. Every read asks for the owner.

Rows that hold JSON hold the wire form, so that a read is taking apart and putting together, with no translation.
"""

from flyback.storage.run_reads.questions import pause, pauses, pauses_of_owner
from flyback.storage.run_reads.records import (
    calls,
    check_visit,
    node,
    nodes,
    previous_visit,
    visit,
    visit_names,
    visits,
)
from flyback.storage.run_reads.rows import FoundRun
from flyback.storage.run_reads.runs import RunFilter, children, find, find_by_prefix, page, run_on_wire
from flyback.storage.run_reads.told import events
from flyback.storage.run_reads.workspaces import run_inputs, workspace_of, writers_of

__all__ = [
    "FoundRun",
    "RunFilter",
    "calls",
    "check_visit",
    "children",
    "events",
    "find",
    "find_by_prefix",
    "node",
    "nodes",
    "page",
    "pause",
    "pauses",
    "pauses_of_owner",
    "previous_visit",
    "run_inputs",
    "run_on_wire",
    "visit",
    "visit_names",
    "visits",
    "workspace_of",
    "writers_of",
]
