"""A studio that also keeps what was committed, and can hold the planner."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from flyback.domain.run import VisitId
from flyback.domain.workspace import Workspace
from flyback.engine.log import Commit
from flyback.engine.ports import CallSite
from flyback.storage.memory_log import MemoryLog
from kit.clock import HandClock, settled
from kit.studio import SeenRun, Studio


class WatchedLog(MemoryLog):
    """The ledger in memory, and every commit that it took, in order. From one step on it can be held."""

    def __init__(self, clock: HandClock) -> None:
        super().__init__(clock)
        self.commits: list[Commit] = []
        self.held_from_step: int | None = None
        self.go_on = asyncio.Event()

    async def commit(self, commit: Commit) -> None:
        if self.held_from_step is not None and commit.step >= self.held_from_step:
            await self.go_on.wait()
        await super().commit(commit)
        self.commits.append(commit)


class Stage(Studio):
    def __init__(self) -> None:
        super().__init__()
        self.watched = WatchedLog(self.clock)
        self.log = self.watched
        self.planner_may_answer = asyncio.Event()
        self.planner_may_answer.set()

    @property
    def commits(self) -> list[Commit]:
        return self.watched.commits

    @property
    def snapshots(self) -> Mapping[VisitId, Workspace]:
        """The workspaces that were stored with visits."""
        told = [(commit.decided or commit.visit, commit.workspace) for commit in self.commits]
        return {visit.visit_id: workspace for visit, workspace in told if visit and workspace is not None}

    async def settle(self) -> None:
        """Let everything happen that needs no time to pass."""
        await settled()

    async def _gate(self, site: CallSite) -> None:
        if site.role == "planner":
            await self.planner_may_answer.wait()
        await super()._gate(site)


def planner_prompts(run: SeenRun) -> list[str]:
    """What the planner was sent at each of its calls, system and user text together."""
    asked = [call for node in run.raw.graph.nodes for call in run.asked(node, role="planner")]
    in_order = sorted(asked, key=lambda call: call.position)
    return ["\n\n".join(message.text for message in call.prompt) for call in in_order]


def planner_text(stage: Stage, visit_id: str) -> list[str]:
    """The pieces of the planner's text that were shown after a visit."""
    return [text.text for text in stage.watcher.texts if text.source == "planner" and text.visit_id == visit_id]
