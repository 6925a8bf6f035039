"""From the body of a chat request to what a chat template is given, the way servers do it."""

from __future__ import annotations

import json
from typing import Any

from llmdebug.tokens.values import Chat, TokenizerError

PART_JOINT = "\n"
"""Between the texts of a message's parts, for a template that takes one text."""


class ChatError(TokenizerError):
    """A conversation that no template can be given."""

    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(f"{pointer}: {message}")
        self.pointer = pointer


def chat_of(body: dict[str, Any]) -> Chat:
    """Raises ChatError where the messages are none."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ChatError("/messages", "there are no messages to put together.")
    tools = body.get("tools")
    if tools is not None and not (isinstance(tools, list) and all(isinstance(tool, dict) for tool in tools)):
        raise ChatError("/tools", "tools are a list of objects.")
    documents, variables = body.get("documents"), body.get("chat_template_kwargs")
    goes_on = body.get("continue_final_message") is True
    return Chat(
        messages=[_message(message, f"/messages/{place}") for place, message in enumerate(messages)],
        tools=None if body.get("tool_choice") == "none" or not tools else tools,
        documents=documents if isinstance(documents, list) else None,
        add_generation_prompt=body.get("add_generation_prompt", not goes_on) is True,
        continue_final_message=goes_on,
        variables=variables if isinstance(variables, dict) else {},
    )


def _message(message: Any, pointer: str) -> dict[str, Any]:
    """A message with its tool calls' arguments read: templates take them as objects."""
    if not isinstance(message, dict):
        raise ChatError(pointer, "a message is an object with a role.")
    made = {**message, "content": "" if message.get("content") is None else message["content"]}
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        made["tool_calls"] = [_call(call, f"{pointer}/tool_calls/{place}") for place, call in enumerate(calls)]
    return made


def _call(call: Any, pointer: str) -> Any:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
        return call
    try:
        arguments = json.loads(function["arguments"] or "{}")
    except (ValueError, RecursionError) as error:
        raise ChatError(f"{pointer}/function/arguments", f"the string must hold JSON: {error}.") from error
    return {**call, "function": {**function, "arguments": arguments}}


def flattened(message: Any) -> Any:
    """The message with the texts of its content's parts as one text."""
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return message
    texts = [part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, str | dict)]
    return {**message, "content": PART_JOINT.join(text for text in texts if isinstance(text, str))}


def media_of(body: Any) -> list[str]:
    """Pointers of parts that are no text: a server turns them into tokens that no tokenizer counts."""
    messages = body.get("messages") if isinstance(body, dict) else None
    found = []
    for place, message in enumerate(messages if isinstance(messages, list) else []):
        content = message.get("content") if isinstance(message, dict) else None
        for part_place, part in enumerate(content if isinstance(content, list) else []):
            if isinstance(part, dict) and not isinstance(part.get("text"), str):
                found.append(f"/messages/{place}/content/{part_place}")
    return found
