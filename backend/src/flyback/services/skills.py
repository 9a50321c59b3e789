"""Skills: listing, reading, making, changing, uploading and deleting their folders, and going back to what they were.

A folder that somebody made here is theirs; one that the operator put on disk, or that came with the product, is there
for everybody. What a foreign folder is called is not told: it is not found. A content that a run or a person has met is
kept as a version, before another takes its place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from flyback.domain.errors import InvalidError, NotFoundError, SkillNotFoundError
from flyback.domain.run import RunId
from flyback.domain.wire import time_on_wire
from flyback.engine.ports import Clock, Skill, SkillField
from flyback.providers.skill_archive import add_upload
from flyback.providers.skill_folders import SkillFolder, SkillFolders
from flyback.providers.skill_versions import SkillVersions
from flyback.providers.skills import read_skill_file, unknown_skill, usable_skill
from flyback.services.actor import Actor
from flyback.services.samples import packaged_samples
from flyback.storage import audit
from flyback.storage import skills as stored
from flyback.storage.database import Database


def packaged_skills() -> Path:
    """Return the folder of the skills that come with the product."""
    return Path(str(packaged_samples() / "skills"))


@dataclass(frozen=True, slots=True)
class SkillView:
    """A skill in a list."""

    id: str
    name: str
    description: str
    inputs: Sequence[SkillField]
    outputs: Sequence[SkillField]
    allowed_tools: Sequence[str] | None
    problems: Sequence[str]
    usable: bool
    built_in: bool
    updated_at: str


@dataclass(frozen=True, slots=True)
class SkillDetailView(SkillView):
    body: str
    source: str
    """The whole SKILL.md, line ends as LF. Saving exactly this leaves the file's bytes as they are."""
    revision: str
    files: Sequence[str]


@dataclass(frozen=True, slots=True)
class SkillVersionView:
    """A content that a skill has or had."""

    number: int
    """Counts the skill's contents in the order they were first met, from 1."""
    hash: str
    name: str
    description: str
    current: bool
    created_at: str


class Skills:
    """What a person does with skills; also the engine's library, bound to the owner of a run."""

    def __init__(
        self,
        folders: SkillFolders,
        versions: SkillVersions,
        database: Database,
        *,
        clock: Clock,
        runs_scripts: bool = False,
    ) -> None:
        self._folders = folders
        self._versions = versions
        self._database = database
        self._clock = clock
        self._runs_scripts = runs_scripts
        self._changing = asyncio.Lock()

    async def clear_up(self) -> None:
        """Remove what a death has left behind, and versions that no list and no open run names."""
        used = await self._database.read(stored.used_contents)
        await asyncio.to_thread(self._folders.clear_up)
        await asyncio.to_thread(self._versions.forget_all_but, used)

    async def all(self, actor: Actor) -> Sequence[SkillView]:
        owners = await self._database.read(stored.owners)
        folders = await asyncio.to_thread(self._folders.all)
        return [_view(folder) for folder in folders if owners.get(folder.id, actor.owner_id) == actor.owner_id]

    async def get(self, actor: Actor, skill_id: str) -> SkillDetailView:
        """Raises NotFoundError."""
        return await self._detail(await self._found(actor, skill_id))

    async def file(self, actor: Actor, skill_id: str, path: str, *, version: str | None = None) -> str:
        """Return the text of one of a skill's files. Raises NotFoundError, InvalidError."""
        folder = await self._found(actor, skill_id)
        if version is not None:
            folder = await self._opened(folder, version)
        return await asyncio.to_thread(self._folders.read_file, folder, path)

    async def create(self, actor: Actor, source: str) -> SkillDetailView:
        """Make a folder with this SKILL.md. Raises InvalidError, TooLargeError."""
        async with self._changing:
            folder = await asyncio.to_thread(self._folders.create, source)
            await self._note(actor, folder, "skill.added", stored.put)
        return await self._detail(folder)

    async def upload(self, actor: Actor, content: bytes, *, into: str | None = None) -> SkillDetailView:
        """Make a folder of a zip or of a single SKILL.md, or put it in the place of what the skill `into` holds.

        Raises:
            InvalidError, TooLargeError, NotFoundError: nothing was written.
        """
        if into is not None:
            return await self._change(actor, into, lambda before: add_upload(self._folders, content, into=before.id))
        async with self._changing:
            folder = await asyncio.to_thread(add_upload, self._folders, content)
            await self._note(actor, folder, "skill.added", stored.put)
        return await self._detail(folder)

    async def save(self, actor: Actor, skill_id: str, source: str, *, revision: str | None = None) -> SkillDetailView:
        """Put another SKILL.md in the place of a skill's, which is kept as a version.

        Args:
            revision: of the SKILL.md that it was made from; None takes the place of whatever is there.

        Raises:
            RevisionConflictError, NotFoundError, InvalidError, TooLargeError: nothing was written.
        """
        return await self._change(
            actor, skill_id, lambda before: self._folders.save(before.id, source, revision=revision)
        )

    async def delete(self, actor: Actor, skill_id: str) -> None:
        """Remove a skill's folder with everything in it. Raises NotFoundError, InvalidError."""
        async with self._changing:
            folder = await self._found(actor, skill_id)
            await asyncio.to_thread(self._folders.delete, folder.id)

            def work(conn: Connection) -> None:
                stored.delete(conn, skill_id=folder.id, owner_id=actor.owner_id)
                self._audit(conn, actor, "skill.deleted", folder)

            await self._database.write(work)

    # Versions.

    async def versions(self, actor: Actor, skill_id: str) -> Sequence[SkillVersionView]:
        """Return what a skill holds and what it has held, newest first. Raises NotFoundError."""
        async with self._changing:
            folder = await self._found(actor, skill_id)
            current = await self._keep(folder)
        rows = await self._database.read(lambda conn: stored.versions(conn, folder.id))

        def look() -> list[SkillVersionView]:
            return [self._version(folder, number, row, current) for number, row in enumerate(rows, 1)]

        return (await asyncio.to_thread(look))[::-1]

    async def version(self, actor: Actor, skill_id: str, version: str) -> SkillDetailView:
        """Return a skill as it was. Raises NotFoundError."""
        return await self._detail(await self._opened(await self._found(actor, skill_id), version))

    async def restore(self, actor: Actor, skill_id: str, version: str) -> SkillDetailView:
        """Put what a skill held in the place of what it holds. Raises NotFoundError, InvalidError."""
        then = await self._opened(await self._found(actor, skill_id), version)
        return await self._change(actor, skill_id, lambda before: self._folders.replace_files(before.id, then.path))

    # For the engine.

    async def find(self, skill_id: str, *, owner_id: str, run_id: RunId) -> Skill:
        """Return a skill for a run of this owner, in the version that the run works with. Raises SkillNotFoundError."""
        folder = await self._of_run(skill_id, owner_id, run_id)
        version = folder.path.name
        return await asyncio.to_thread(
            usable_skill, self._folders, folder, version=version, runs_scripts=self._runs_scripts
        )

    async def read_file(self, skill_id: str, path: str, *, owner_id: str, run_id: RunId) -> str:
        """Return the text of one of a skill's own files. Raises SkillNotFoundError, SkillFileError."""
        folder = await self._of_run(skill_id, owner_id, run_id)
        return await asyncio.to_thread(read_skill_file, self._folders, folder, path)

    async def _of_run(self, skill_id: str, owner_id: str, run_id: RunId) -> SkillFolder:
        version = await self._persist_read(lambda conn: stored.version_of_run(conn, run_id, skill_id))
        if version is None:
            version = await self._settled(skill_id, owner_id, run_id)
        try:
            return await asyncio.to_thread(self._versions.open, skill_id, version)
        except NotFoundError as error:
            message = f"The version of the skill {skill_id!r} that this run works with is not on this machine."
            fix = "Give all workers the same data folder, or start the run again."
            raise SkillNotFoundError(message, field="agentId", fix=fix) from error

    async def _settled(self, skill_id: str, owner_id: str, run_id: RunId) -> str:
        """Settle that a run works with what the folder holds now, unless that is settled by now."""
        try:
            folder = await asyncio.to_thread(self._folders.find, skill_id)
            owner = await self._persist_read(lambda conn: stored.owner_of(conn, folder.id))
            if owner not in (None, owner_id):
                raise unknown_skill(skill_id)
            async with self._changing:
                content = await asyncio.to_thread(self._versions.keep, folder)
        except NotFoundError:
            raise unknown_skill(skill_id) from None
        except InvalidError as error:
            raise SkillNotFoundError(error.message, field="agentId", fix=error.fix) from error
        now = time_on_wire(self._clock.now())

        def work(conn: Connection) -> str:
            stored.add_version(conn, skill_id=folder.id, content_hash=content, now=now)
            return stored.settle_version(conn, run_id, skill_id=skill_id, content_hash=content)

        return await self._database.persist(lambda: self._database.write(work))

    async def _persist_read(self, work: Callable[[Connection], str | None]) -> str | None:
        return await self._database.persist(lambda: self._database.read(work))

    # Inside.

    async def _found(self, actor: Actor, skill_id: str) -> SkillFolder:
        folder = await asyncio.to_thread(self._folders.find, skill_id)
        owner = await self._database.read(lambda conn: stored.owner_of(conn, folder.id))
        if owner not in (None, actor.owner_id):
            raise NotFoundError(f"There is no skill {skill_id!r}.", fix="See the list of skills.")
        return folder

    async def _opened(self, folder: SkillFolder, version: str) -> SkillFolder:
        """Return what a skill held. A hash is only looked up among the skill's own. Raises NotFoundError."""
        rows = await self._database.read(lambda conn: stored.versions(conn, folder.id))
        wanted = version if any(row.content_hash == version for row in rows) else ""
        return await asyncio.to_thread(self._versions.open, folder.id, wanted, built_in=folder.built_in)

    async def _keep(self, folder: SkillFolder) -> str:
        """Keep what a folder holds as a version of the skill. Raises InvalidError."""
        content = await asyncio.to_thread(self._versions.keep, folder)
        now = time_on_wire(self._clock.now())
        rows = await self._database.read(lambda conn: stored.versions(conn, folder.id))
        if not any(row.content_hash == content for row in rows):
            await self._database.write(
                lambda conn: stored.add_version(conn, skill_id=folder.id, content_hash=content, now=now)
            )
        return content

    async def _change(
        self, actor: Actor, skill_id: str, change: Callable[[SkillFolder], SkillFolder]
    ) -> SkillDetailView:
        async with self._changing:
            before = await self._found(actor, skill_id)
            was = await self._keep(before)
            after = await asyncio.to_thread(change, before)
            if await asyncio.to_thread(self._versions.keep, after) != was:
                await self._note(actor, after, "skill.changed", stored.changed)
        return await self._detail(after)

    async def _note(self, actor: Actor, folder: SkillFolder, action: str, store: Callable[..., None]) -> None:
        content = await asyncio.to_thread(self._versions.keep, folder)
        now = time_on_wire(self._clock.now())

        def work(conn: Connection) -> None:
            store(
                conn,
                skill_id=folder.id,
                owner_id=actor.owner_id,
                name=folder.name,
                content_hash=content,
                now=now,
            )
            stored.add_version(conn, skill_id=folder.id, content_hash=content, now=now)
            self._audit(conn, actor, action, folder)

        await self._database.write(work)

    def _audit(self, conn: Connection, actor: Actor, action: str, folder: SkillFolder) -> None:
        at = time_on_wire(self._clock.now())
        details = {"name": folder.name}
        audit.record(conn, at=at, actor_id=actor.user_id, action=action, subject=folder.id, details=details)

    def _version(self, folder: SkillFolder, number: int, row: stored.VersionRow, current: str) -> SkillVersionView:
        try:
            then = self._versions.open(folder.id, row.content_hash)
            name, description = then.name, then.text.description
        except NotFoundError:  # it was kept on another machine
            name, description = folder.name, ""
        return SkillVersionView(
            number, row.content_hash, name, description, row.content_hash == current, row.created_at
        )

    async def _detail(self, folder: SkillFolder) -> SkillDetailView:
        files = await asyncio.to_thread(self._folders.files, folder)
        view = _view(folder)
        return SkillDetailView(
            id=view.id,
            name=view.name,
            description=view.description,
            inputs=view.inputs,
            outputs=view.outputs,
            allowed_tools=view.allowed_tools,
            problems=view.problems,
            usable=view.usable,
            built_in=view.built_in,
            updated_at=view.updated_at,
            body=folder.text.body,
            source=folder.text.source,
            revision=folder.revision,
            files=files,
        )


def _view(folder: SkillFolder) -> SkillView:
    return SkillView(
        id=folder.id,
        name=folder.name,
        description=folder.text.description,
        inputs=folder.inputs,
        outputs=folder.outputs,
        allowed_tools=folder.allowed_tools,
        problems=folder.problems,
        usable=folder.text.usable,
        built_in=folder.built_in,
        updated_at=time_on_wire(folder.updated_at),
    )
