"""Who does something: everything a person can do takes an actor, and every row is looked up by its owner.

Workflows, runs and skills belong to a person. Models, MCP servers and limits belong to the house: administrators set them up
for everybody, and their rows carry the owner of the first user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from flyback.domain.errors import ForbiddenError

Via = Literal["session", "api_key", "local"]
"""`local` is the command line, which works in the data folder itself."""
Role = Literal["viewer", "editor", "admin"]
Right = Literal["read", "run", "write", "admin"]
"""Each holds those before it: looking; starting, cancelling and answering runs; changing what is one's own; the house."""

RIGHTS: tuple[Right, ...] = get_args(Right)
_OF_ROLE: dict[Role, Right] = {"viewer": "read", "editor": "write", "admin": "admin"}


@dataclass(frozen=True, slots=True)
class Actor:
    user_id: str
    name: str
    role: Role
    via: Via
    credential_id: str
    """Of the session or key: one client, for limits that count per client."""
    csrf_token: str | None = None
    """Of a session: what its writing calls have to send."""
    scope: Right = "admin"
    """What the API key is for: it narrows the role and never widens it."""
    house_id: str | None = None
    """Owner of what belongs to the house; None where nobody else is there."""

    @property
    def owner_id(self) -> str:
        return self.user_id

    @property
    def house(self) -> str:
        return self.house_id or self.user_id

    @property
    def highest(self) -> Right:
        both: tuple[Right, Right] = (_OF_ROLE[self.role], self.scope)
        return min(both, key=RIGHTS.index)

    def may(self, right: Right) -> bool:
        return RIGHTS.index(right) <= RIGHTS.index(self.highest)

    def check(self, right: Right) -> None:
        """Raises ForbiddenError."""
        if self.may(right):
            return
        if RIGHTS.index(right) <= RIGHTS.index(_OF_ROLE[self.role]):
            what = f"This API key is for {self.scope!r}, and the call needs {right!r}."
            raise ForbiddenError(what, fix=f"Make a key with the scope {right!r}.")
        what = f"{self.name!r} is {self.role}, and the call needs the right {right!r}."
        raise ForbiddenError(what, fix="Ask an administrator.")
