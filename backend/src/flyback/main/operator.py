"""How much one process takes on, as the operator set it in the environment: whole numbers, each with its bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flyback.domain.errors import InvalidError
from flyback.storage.retention import Keep


@dataclass(frozen=True, slots=True)
class WholeNumber:
    variable: str
    default: int
    least: int
    most: int
    meaning: str

    def read(self, environment: Mapping[str, str]) -> int:
        """Raises InvalidError."""
        number = self.read_if_set(environment)
        return self.default if number is None else number

    def read_if_set(self, environment: Mapping[str, str]) -> int | None:
        """Return None where it is not set. Raises InvalidError."""
        text = environment.get(self.variable, "").strip()
        if not text:
            return None
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
        if number is None or not self.least <= number <= self.most:
            raise InvalidError(
                f"{self.variable} is {text!r}.",
                field=self.variable,
                fix=f"Set a whole number from {self.least} to {self.most}, or leave it out for {self.default}.",
            )
        return number


SLOTS = WholeNumber("FLYBACK_SLOTS", 16, 1, 1_000, "Runs that one process drives at the same time.")
QUEUE_LIMIT = WholeNumber(
    "FLYBACK_QUEUE_LIMIT", 10_000, 1, 10_000_000, "Runs that may wait; beyond them a start is answered 429."
)
CONNECTIONS = WholeNumber(
    "FLYBACK_DATABASE_CONNECTIONS", 16, 8, 200, "Connections of one process to PostgreSQL, at most."
)
STREAMS = WholeNumber("FLYBACK_STREAMS", 1_000, 1, 100_000, "Event streams that one process keeps open.")
STREAMS_PER_CLIENT = WholeNumber("FLYBACK_STREAMS_PER_CLIENT", 20, 1, 100_000, "Event streams of one sign-in or key.")
LEASE_SECONDS = WholeNumber(
    "FLYBACK_LEASE_SECONDS",
    12,
    2,
    600,
    "How long a worker on PostgreSQL may be silent until its runs are taken up by others. The same for all processes.",
)
KEEP_DAYS = WholeNumber(
    "FLYBACK_KEEP_DAYS", 0, 1, 100_000, "Runs that ended longer ago are deleted, beside what `FLYBACK_KEEP_RUNS` keeps."
)
KEEP_RUNS = WholeNumber(
    "FLYBACK_KEEP_RUNS", 0, 0, 100_000_000, "The newest so many runs stay, beside what `FLYBACK_KEEP_DAYS` keeps."
)
NUMBERS = (SLOTS, QUEUE_LIMIT, CONNECTIONS, LEASE_SECONDS, STREAMS, STREAMS_PER_CLIENT)


def kept_runs(environment: Mapping[str, str]) -> Keep:
    """Return which runs stay; all of them where nothing is set. Raises InvalidError."""
    return Keep(KEEP_DAYS.read_if_set(environment), KEEP_RUNS.read_if_set(environment))
