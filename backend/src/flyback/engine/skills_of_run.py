"""The skills that a drawing's nodes name, looked up when a driver takes the run over.

The first look settles which version of each the run works with, to its end: also at a node that comes last, and after a
pause of days.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from flyback.domain.errors import FlybackError
from flyback.domain.graph import Node, NodeId
from flyback.engine.log import RunState
from flyback.engine.parts import Engine
from flyback.engine.ports import Skill

_RUN_ONE = frozenset({"agent", "skill"})
_log = logging.getLogger(__name__)


async def skills_of_run(state: RunState, engine: Engine) -> Mapping[NodeId, Skill]:
    """Return the skills that nodes run, by node. One that cannot be read is left out: its node will say why."""
    found: dict[str, Skill] = {}
    for skill_id in dict.fromkeys(one for node in state.graph.runnable for one in _named(node)):
        try:
            found[skill_id] = await engine.skills.find(skill_id, owner_id=state.owner_id, run_id=state.run_id)
        except FlybackError as error:
            _log.info("run %s: there is no skill %r yet: %s", state.run_id, skill_id, error)
    runs = {node.id: node.data.get("agentId") for node in state.graph.runnable if node.type in _RUN_ONE}
    return {node_id: found[skill_id] for node_id, skill_id in runs.items() if skill_id in found}


def _named(node: Node) -> Iterable[str]:
    match node.data:
        case {"agentId": str(skill_id)} if node.type in _RUN_ONE:
            return [skill_id]
        case {"skills": list(listed)} if node.type == "smartAction":
            return [skill_id for skill_id in listed if isinstance(skill_id, str)]
        case _:
            return []
