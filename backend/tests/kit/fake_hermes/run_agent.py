"""Stands in for the Hermes Agent: the same class and callbacks, a loop of a few lines, and bad manners on demand.

What the instruction says decides on them: `noise` writes to stdout, `die` ends the process after its first tool call,
`hang` never begins, `aside` asks the model something for itself first.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from typing import Any
from urllib.parse import urlsplit

from tools.registry import registry

_OWN = {
    "todo": {"type": "object", "properties": {"text": {"type": "string"}}},
    "clarify": {"type": "object", "properties": {"question": {"type": "string"}}},
}


class AIAgent:
    def __init__(self, **given: Any) -> None:
        self.given = given
        self.used = 0

    def run_conversation(
        self, user_message: str, *, conversation_history: list[dict[str, Any]], task_id: str
    ) -> dict[str, Any]:
        assert task_id
        system = self.given["ephemeral_system_prompt"]
        wish = user_message + "".join(str(message["content"]) for message in conversation_history)
        if "hang" in wish:
            time.sleep(600)
        if "noise" in wish:
            sys.stdout.write('I am Hermes! {"type": "final", "text": "never"}\n')
            sys.stdout.flush()
            os.write(1, b"\xff\xfe not a line of yours\n")
        if "aside" in wish:
            self._ask([{"role": "user", "content": "Give this a title."}], [])
        talk = [*conversation_history, {"role": "user", "content": user_message}]
        while True:
            head = {"role": "system", "content": f"You are Hermes.\n{system}\nTool sets: {self._toolsets()}"}
            message = self._ask([head, *talk], self._tools())
            talk.append(message)
            if not message.get("tool_calls"):
                return {"final_response": message["content"], "messages": talk, "error": None}
            for call in message["tool_calls"]:
                text = self._use(call)
                talk.append({"role": "tool", "tool_call_id": call["id"], "content": text})
                if "die" in wish:
                    os._exit(3)

    def _toolsets(self) -> list[str]:
        return list(self.given["enabled_toolsets"])

    def _tools(self) -> list[dict[str, Any]]:
        own = [
            {"name": name, "description": "", "parameters": schema}
            for name, schema in _OWN.items()
            if name in self._toolsets()
        ]
        theirs = [schema for toolset, schema, _ in registry.tools.values() if toolset in self._toolsets()]
        return [{"type": "function", "function": function} for function in (*own, *theirs)]

    def _use(self, call: dict[str, Any]) -> str:
        name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
        self.given["tool_start_callback"](call["id"], name, arguments)
        text = self._invoke_tool(name, arguments, "")
        self.given["tool_complete_callback"](call["id"], name, arguments, text)
        return text

    def _invoke_tool(self, name: str, arguments: dict[str, Any], task_id: str) -> str:
        if name == "clarify":
            return json.dumps({"user_response": self.given["clarify_callback"](arguments.get("question", ""), None)})
        if name in registry.tools:
            return registry.tools[name][2](arguments, task_id=task_id)
        return f"noted: {arguments}"

    def _ask(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        body = json.dumps({"model": self.given["model"], "messages": messages, "tools": tools}).encode()
        headers = {"Authorization": f"Bearer {self.given['api_key']}", "Content-Type": "application/json"}
        address = urlsplit(str(self.given["base_url"]))
        connection = http.client.HTTPConnection(str(address.hostname), address.port)
        connection.request("POST", f"{address.path}/chat/completions", body, headers)
        return json.loads(connection.getresponse().read())["choices"][0]["message"]
