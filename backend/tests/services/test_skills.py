"""Skills as a person keeps them: whose they are, what is on record, and what the engine gets."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from flyback.domain.errors import InvalidError, NotFoundError, SkillNotFoundError
from flyback.domain.run import RunId
from flyback.providers.skill_folders import SkillFolders
from flyback.providers.skill_versions import SkillVersions
from flyback.providers.system import SystemClock
from flyback.services.actor import Actor
from flyback.services.skills import Skills, packaged_skills
from flyback.storage import audit
from flyback.storage.database import Database

ME = Actor("me", "Me", "admin", "local", "local")
YOU = Actor("you", "You", "admin", "local", "local")
RUN = RunId("one")
SOURCE = "---\nname: good\ndescription: Does good.\n---\nDo good.\n"


@asynccontextmanager
async def some_skills(folder: Path) -> AsyncGenerator[tuple[Skills, Database]]:
    database = await Database.open(f"sqlite:///{folder / 'flyback.db'}")
    try:
        folders, versions = SkillFolders(folder / "skills"), SkillVersions(folder / "skill-versions")
        yield Skills(folders, versions, database, clock=SystemClock()), database
    finally:
        await database.close()


async def test_a_skill_is_made_read_changed_and_deleted(tmp_path: Path) -> None:
    async with some_skills(tmp_path) as (skills, database):
        made = await skills.create(ME, SOURCE)
        assert (made.id, made.body, made.source, list(made.files)) == ("good", "Do good.", SOURCE, ["SKILL.md"])
        assert [view.id for view in await skills.all(ME)] == ["good"]
        await skills.save(ME, "good", SOURCE)
        changed = await skills.save(ME, "good", SOURCE.replace("Do good.", "Do better."))
        assert changed.body == "Do better."
        await skills.delete(ME, "good")
        assert await skills.all(ME) == []
        # and each change is on record, the one that changed nothing is not
        rows = await database.read(lambda conn: audit.newest(conn, limit=9))
        assert [row.action for row in rows] == ["skill.deleted", "skill.changed", "skill.added"]


async def test_a_change_makes_a_version_and_an_older_one_can_be_seen_and_come_back(tmp_path: Path) -> None:
    async with some_skills(tmp_path) as (skills, database):
        await skills.create(ME, SOURCE)
        await skills.save(ME, "good", SOURCE.replace("Do good.", "Do better."))
        listed = await skills.versions(ME, "good")
        assert [(view.number, view.current) for view in listed] == [(2, True), (1, False)]
        first = listed[1].hash
        assert (await skills.version(ME, "good", first)).body == "Do good."
        assert (await skills.version(ME, "good", first)).problems == []
        # when it comes back it is no third content
        assert (await skills.restore(ME, "good", first)).body == "Do good."
        assert [(view.number, view.current) for view in await skills.versions(ME, "good")] == [(2, False), (1, True)]
        rows = await database.read(lambda conn: audit.newest(conn, limit=9))
        assert [row.action for row in rows] == ["skill.changed", "skill.changed", "skill.added"]


async def test_going_back_brings_every_file_back_and_takes_away_what_came_later(tmp_path: Path) -> None:
    async with some_skills(tmp_path) as (skills, _):
        await skills.create(ME, SOURCE)
        folder = tmp_path / "skills" / "good"
        (folder / "deep" / "er").mkdir(parents=True)
        (folder / "deep" / "er" / "a.md").write_text("A")
        (folder / ".git").mkdir()
        (folder / ".git" / "kept").write_text("not ours")
        with_file = (await skills.versions(ME, "good"))[0].hash
        # when somebody works on the folder, and a person goes back
        (folder / "deep" / "er" / "a.md").unlink()
        (folder / "deep" / "er").rmdir()
        (folder / "deep").rmdir()
        (folder / "deep").write_text("now a file")
        (folder / "later").mkdir()
        (folder / "later" / "b.md").write_text("B")
        restored = await skills.restore(ME, "good", with_file)
        # then it is as it was, and what it was before that is kept too
        assert list(restored.files) == ["SKILL.md", "deep/er/a.md"]
        assert not (folder / "later").exists()
        assert (folder / ".git" / "kept").read_text() == "not ours"
        assert [view.number for view in await skills.versions(ME, "good")] == [3, 2, 1]
        assert await skills.file(ME, "good", "later/b.md", version=(await skills.versions(ME, "good"))[0].hash) == "B"


async def test_an_upload_may_take_the_place_of_what_a_skill_holds(tmp_path: Path) -> None:
    async with some_skills(tmp_path) as (skills, _):
        await skills.create(ME, SOURCE)
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as packed:
            packed.writestr("repo/skills/other/SKILL.md", SOURCE.replace("Do good.", "Do more."))
            packed.writestr("repo/skills/other/references/a.md", "A")
        changed = await skills.upload(ME, content.getvalue(), into="good")
        assert (changed.id, changed.body, list(changed.files)) == ("good", "Do more.", ["SKILL.md", "references/a.md"])
        # and a SKILL.md alone leaves the other files
        changed = await skills.upload(ME, SOURCE.encode(), into="good")
        assert (changed.body, list(changed.files)) == ("Do good.", ["SKILL.md", "references/a.md"])
        assert len(await skills.versions(ME, "good")) == 3
        with pytest.raises(NotFoundError):
            await skills.upload(ME, SOURCE.encode(), into="none")
        with pytest.raises(NotFoundError):
            await skills.upload(YOU, SOURCE.encode(), into="good")


async def test_a_link_where_a_folder_has_to_be_stops_going_back_before_anything_is_changed(tmp_path: Path) -> None:
    async with some_skills(tmp_path) as (skills, _):
        await skills.create(ME, SOURCE)
        folder, outside = tmp_path / "skills" / "good", tmp_path / "outside"
        (folder / "references").mkdir()
        (folder / "references" / "a.md").write_text("A")
        version = (await skills.versions(ME, "good"))[0].hash
        (folder / "references" / "a.md").unlink()
        (folder / "references").rmdir()
        outside.mkdir()
        (folder / "references").symlink_to(outside)
        with pytest.raises(InvalidError, match="link"):
            await skills.restore(ME, "good", version)
        assert list(outside.iterdir()) == []


@pytest.mark.parametrize("version", ["", "..", "0" * 64, "../good"])
async def test_a_version_is_looked_up_among_the_skills_own(tmp_path: Path, version: str) -> None:
    async with some_skills(tmp_path) as (skills, _):
        await skills.create(ME, SOURCE)
        await skills.create(ME, SOURCE.replace("good", "other"))
        others = (await skills.versions(ME, "other"))[0].hash
        for wrong in (version, others):
            with pytest.raises(NotFoundError, match="no version"):
                await skills.version(ME, "good", wrong)
            with pytest.raises(NotFoundError, match="no version"):
                await skills.restore(ME, "good", wrong)


async def test_a_deleted_skills_versions_are_not_those_of_the_next_one_of_its_name(tmp_path: Path) -> None:
    async with some_skills(tmp_path) as (skills, _):
        await skills.create(ME, SOURCE)
        await skills.delete(ME, "good")
        await skills.create(YOU, SOURCE.replace("Do good.", "Do mine."))
        assert [view.number for view in await skills.versions(YOU, "good")] == [1]


async def test_a_version_that_nobody_names_is_removed_after_a_while(tmp_path: Path) -> None:
    async with some_skills(tmp_path) as (skills, _):
        await skills.create(ME, SOURCE)
        kept = tmp_path / "skill-versions" / (await skills.versions(ME, "good"))[0].hash
        await skills.create(ME, SOURCE.replace("good", "gone"))
        gone = tmp_path / "skill-versions" / (await skills.versions(ME, "gone"))[0].hash
        await skills.delete(ME, "gone")
        await skills.clear_up()
        assert gone.is_dir()  # it is young
        for folder in (kept, gone):
            os.utime(folder, (0, 0))
        await skills.clear_up()
        assert (kept.is_dir(), gone.is_dir()) == (True, False)


async def test_what_one_person_made_another_does_not_find(tmp_path: Path) -> None:
    async with some_skills(tmp_path) as (skills, _):
        await skills.upload(ME, SOURCE.encode())
        assert await skills.all(YOU) == []
        for attempt in (skills.get(YOU, "good"), skills.save(YOU, "good", SOURCE), skills.delete(YOU, "good")):
            with pytest.raises(NotFoundError):
                await attempt
        with pytest.raises(SkillNotFoundError):
            await skills.find("good", owner_id="you", run_id=RUN)
        assert (await skills.find("good", owner_id="me", run_id=RUN)).body == "Do good."
        with pytest.raises(InvalidError, match="exists already"):
            await skills.create(YOU, SOURCE)


async def test_a_folder_that_the_operator_put_there_is_everybodys(tmp_path: Path) -> None:
    folder = tmp_path / "skills" / "任务"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SOURCE.replace("good", "任务收尾器"), encoding="utf-8")
    async with some_skills(tmp_path) as (skills, _):
        for actor in (ME, YOU):
            assert (await skills.get(actor, "任务")).name == "任务收尾器"
            assert (await skills.find("任务", owner_id=actor.owner_id, run_id=RUN)).name == "任务收尾器"


async def test_a_refused_upload_leaves_nothing(tmp_path: Path) -> None:
    async with some_skills(tmp_path) as (skills, database):
        for content in (b"PK\x03\x04 broken", b"\xff\xfe", b"no name"):
            with pytest.raises(InvalidError):
                await skills.upload(ME, content)
        assert await skills.all(ME) == []
        assert await database.read(lambda conn: audit.newest(conn, limit=9)) == []


def test_the_skills_that_come_with_the_product_are_as_the_open_format_asks() -> None:
    shipped = SkillFolders(Path("/nowhere"), built_in=[packaged_skills()]).all()
    assert {skill.id for skill in shipped} >= {"fact-check", "meeting-notes"}
    for skill in shipped:
        assert (list(skill.problems), skill.built_in) == ([], True)
        assert skill.inputs
        assert skill.outputs
        assert skill.text.body
