"""The types of node there are: what the editor draws its palette and its forms from."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import ValidationError

from flyback.api.deps import SIGNED_IN
from flyback.api.json_body import router
from flyback.api.wire.equipment import NodeType, NodeTypeList
from flyback.engine.nodes.base import NodeType as Registered
from flyback.engine.nodes.base import node_types

routes = router(prefix="/api/node-types", tag="node types")


@routes.get("", dependencies=[SIGNED_IN])
async def list_node_types() -> NodeTypeList:
    """Every type of node with the JSON schema of its data, its handles, icon and category."""
    return _listed()


@cache
def _listed() -> NodeTypeList:
    items = [_node_type(registered) for registered in node_types().values()]
    return NodeTypeList(items=items, total=len(items))


def _node_type(registered: Registered[Any]) -> NodeType:
    return NodeType(
        type=registered.type,
        title=dict(registered.title),
        summary=dict(registered.summary),
        category=registered.category,
        icon=registered.icon,
        runs=registered.runs,
        handles=_handles(registered),
        writes=list(registered.written_names(registered.config_type.model_construct())),
        config_schema=registered.config_type.model_json_schema(by_alias=True),
    )


def _handles(registered: Registered[Any]) -> list[str]:
    """The handles of a node with nothing filled in; a type that asks for a value first has the ordinary one."""
    try:
        return list(registered.handles(registered.config_type()))
    except ValidationError:
        return ["output"]
