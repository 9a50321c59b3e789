"""Who works on a data folder: an OS lock that dies with its process.

SQLite's recovery rests on it: who holds the lock knows that no other process drives a run of this folder. The holder
writes who it is beside it, for the message that the next one gets.
"""

from __future__ import annotations

import fcntl
import os
import socket
from pathlib import Path
from typing import IO

from flyback.domain.errors import DataFolderHeldError, DataFolderUnusableError

_LOCK_FILE = "flyback.lock"


class DataFolder:
    """A data folder that this process holds. Let it go with `release`; a death lets it go as well."""

    def __init__(self, path: Path, lock: IO[str]) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def hold(cls, path: Path) -> DataFolder:
        """Make the folder where it is missing, readable by its owner alone, and take its lock.

        Raises:
            DataFolderHeldError: another process works on it.
            DataFolderUnusableError: it cannot be made or written.
        """
        make(path)
        try:
            lock = (path / _LOCK_FILE).open("a+", encoding="utf-8")
        except OSError as error:
            raise _unusable(path, error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            holder = lock.read().strip() or "another process"
            lock.close()
            raise DataFolderHeldError(
                f"The data folder {str(path)!r} is in use by {holder}.",
                fix="Stop that process, or use another data folder (--data).",
            ) from error
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}")
        lock.flush()
        return cls(path, lock)

    def release(self) -> None:
        self._lock.truncate(0)
        self._lock.close()


def make(path: Path) -> None:
    """Make a data folder where it is missing, readable by its owner alone. Raises DataFolderUnusableError."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: OSError) -> DataFolderUnusableError:
    return DataFolderUnusableError(
        f"The data folder {str(path)!r} cannot be written: {error.strerror}.",
        fix="Make it writable for the account that runs Flyback, or use another one (--data).",
    )
