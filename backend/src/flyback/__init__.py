"""Flyback: draw, run and understand agent workflows.

As a library: `from flyback import Workflow, run`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flyback.main.library import Run, Workflow, run

__version__ = "0.1.0"
__all__ = ["Run", "Workflow", "__version__", "run"]


def __getattr__(name: str) -> object:
    """Load the library when it is asked for: the parts of this package do not pay for it."""
    if name in ("Run", "Workflow", "run"):
        from flyback.main import library

        return getattr(library, name)
    raise AttributeError(f"module 'flyback' has no attribute {name!r}")
