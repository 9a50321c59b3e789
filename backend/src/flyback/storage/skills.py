"""Whose a skill folder is, which contents it has had, and with which of them a run works.

The folder itself lies on disk; one without a row belongs to everybody here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from flyback.domain.run import RunId, RunStatus
from flyback.storage.tables import run_skills, skill_versions, skills, workflow_runs
from flyback.storage.upsert import insert_unless_there

_ENDED = (RunStatus.SUCCESS, RunStatus.FAILED, RunStatus.CANCELLED)


@dataclass(frozen=True, slots=True)
class VersionRow:
    content_hash: str
    created_at: str


def owners(conn: sa.Connection) -> Mapping[str, str]:
    """Return folder name to owner."""
    return {row.id: row.owner_id for row in conn.execute(sa.select(skills.c.id, skills.c.owner_id))}


def owner_of(conn: sa.Connection, skill_id: str) -> str | None:
    return conn.execute(sa.select(skills.c.owner_id).where(skills.c.id == skill_id)).scalar_one_or_none()


def put(conn: sa.Connection, *, skill_id: str, owner_id: str, name: str, content_hash: str, now: str) -> None:
    """Note a folder that was just made. What a folder of this name left behind is forgotten."""
    conn.execute(sa.delete(skills).where(skills.c.id == skill_id))
    conn.execute(sa.delete(skill_versions).where(skill_versions.c.skill_id == skill_id))
    conn.execute(
        sa.insert(skills).values(
            id=skill_id, owner_id=owner_id, name=name, content_hash=content_hash, created_at=now, updated_at=now
        )
    )


def changed(conn: sa.Connection, *, skill_id: str, owner_id: str, name: str, content_hash: str, now: str) -> None:
    """Note what a folder holds now, where it has a row."""
    conn.execute(
        sa.update(skills)
        .where(skills.c.id == skill_id, skills.c.owner_id == owner_id)
        .values(name=name, content_hash=content_hash, updated_at=now)
    )


def delete(conn: sa.Connection, *, skill_id: str, owner_id: str) -> None:
    conn.execute(sa.delete(skills).where(skills.c.id == skill_id, skills.c.owner_id == owner_id))
    conn.execute(sa.delete(skill_versions).where(skill_versions.c.skill_id == skill_id))


# Versions.


def versions(conn: sa.Connection, skill_id: str) -> Sequence[VersionRow]:
    """Return what a skill has held, oldest first."""
    query = sa.select(skill_versions).where(skill_versions.c.skill_id == skill_id).order_by(skill_versions.c.id)
    return [VersionRow(row.content_hash, row.created_at) for row in conn.execute(query)]


def add_version(conn: sa.Connection, *, skill_id: str, content_hash: str, now: str) -> None:
    """Note a content, unless it is noted already."""
    row = {"skill_id": skill_id, "content_hash": content_hash, "created_at": now}
    insert_unless_there(conn, skill_versions, row)


def version_of_run(conn: sa.Connection, run_id: RunId, skill_id: str) -> str | None:
    """Return the content that a run works with, once that is settled."""
    query = (
        sa.select(run_skills.c.content_hash)
        .join(workflow_runs, workflow_runs.c.id == run_skills.c.run_id)
        .where(workflow_runs.c.run_uuid == run_id, run_skills.c.skill_id == skill_id)
    )
    return conn.execute(query).scalar_one_or_none()


def settle_version(conn: sa.Connection, run_id: RunId, *, skill_id: str, content_hash: str) -> str:
    """Settle with which content a run works. Returns what was settled first; a run without a row settles nothing."""
    run_key = conn.execute(sa.select(workflow_runs.c.id).where(workflow_runs.c.run_uuid == run_id)).scalar_one_or_none()
    if run_key is None:
        return content_hash
    insert_unless_there(conn, run_skills, {"run_id": run_key, "skill_id": skill_id, "content_hash": content_hash})
    return version_of_run(conn, run_id, skill_id) or content_hash


def used_contents(conn: sa.Connection) -> frozenset[str]:
    """Return the contents that a list of versions names, or that a run which has no end yet works with."""
    listed = sa.select(skill_versions.c.content_hash)
    open_runs = (
        sa.select(run_skills.c.content_hash)
        .join(workflow_runs, workflow_runs.c.id == run_skills.c.run_id)
        .where(workflow_runs.c.status.not_in(_ENDED))
    )
    return frozenset(conn.execute(sa.union(listed, open_runs)).scalars())
