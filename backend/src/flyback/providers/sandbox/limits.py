"""What a program may use. Always set; these are the defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CodeLimits:
    memory_bytes: int = 64 * 1024 * 1024
    seconds: float = 5.0
    output_bytes: int = 1024 * 1024
    """Of what it prints, and of its outputs as JSON."""
    recursion: int = 400
    suspensions: int = 100
    """How often it may ask for something that is refused."""
    source_characters: int = 200_000
    input_bytes: int = 16 * 1024 * 1024
    """Of its inputs as JSON: they count against its memory."""
    grace_seconds: float = 1.0
    """After its time is up, before its process is killed from outside."""
    processes: int = 4
    """How many programs run at once; others wait their turn."""
