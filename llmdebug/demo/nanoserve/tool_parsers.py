"""Reads tool calls out of generated text."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from typing import Any

JSON = dict[str, Any]

TOOL_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


def parse_tagged(text: str) -> tuple[str, list[JSON]]:
    """The text without its `<tool_call>` elements, and the calls; a call that is no JSON stays text."""
    calls: list[JSON] = []

    def take(match: re.Match[str]) -> str:
        try:
            call = json.loads(match[1])
            function = {"name": call["name"], "arguments": json.dumps(call.get("arguments", {}))}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return match[0]
        calls.append({"id": f"call-{uuid.uuid4().hex}", "type": "function", "function": function})
        return ""

    return TOOL_CALL.sub(take, text), calls


TOOL_CALL_PARSERS: dict[str, Callable[[str], tuple[str, list[JSON]]]] = {"tagged": parse_tagged}
