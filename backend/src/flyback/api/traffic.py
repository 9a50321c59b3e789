"""What this process has answered so far, for the metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Traffic:
    requests: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """By method and class of status, such as `("GET", "2xx")`."""
    seconds: float = 0.0

    def note(self, method: str, status: int, seconds: float) -> None:
        known = method if method in _METHODS else "other"
        self.requests[known, f"{status // 100}xx"] += 1
        self.seconds += seconds


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
