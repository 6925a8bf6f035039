"""A conversation whose order or roles are refused: merged, re-ordered, or answered."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from llmdebug.diagnosis.remedies.case import Case
from llmdebug.diagnosis.remedies.coerce import text_in
from llmdebug.diagnosis.remedies.proposal import Proposal

SPEAKS = re.compile(
    r"\brole|\bmessages?\b|conversation|alternat|\bturn|\bsystem\b|\buser\b|\bassistant\b|tool_call", re.I
)
MAX_MESSAGES = 2_000
JOINT = "\n\n"

Message = dict[str, Any]


def reordered(case: Case) -> list[Proposal]:
    """Changes of a conversation that its refusal may ask for; nothing where it does not speak of one."""
    messages = case.body.get("messages") if isinstance(case.body, dict) else None
    if not isinstance(messages, list) or not 0 < len(messages) <= MAX_MESSAGES or not SPEAKS.search(case.text):
        return []
    if not all(isinstance(message, dict) for message in messages):
        return []
    found: list[Proposal] = []
    for change, title, why, keeps in CHANGES:
        made = change(messages)
        if made and made != messages:
            found.append(Proposal(title, why, (case.changed("/messages", made),), _odds(case.text, title), keeps))
    return found


def _odds(text: str, title: str) -> float:
    """Likelier where the refusal uses the words of the change."""
    spoken = set(re.findall(r"[a-z]+", text.lower()))
    return 0.55 + 0.1 * min(
        3, len(spoken & set(re.findall(r"[a-z]+", title.lower())) - {"the", "of", "to", "a", "into"})
    )


def merge_same(messages: list[Message]) -> list[Message]:
    """Neighbours of the same role as one message."""
    made: list[Message] = []
    for message in messages:
        last = made[-1] if made else None
        if last is not None and last.get("role") == message.get("role") and _is_plain(last) and _is_plain(message):
            made[-1] = {**last, "content": joined(last.get("content"), message.get("content"))}
        else:
            made.append(message)
    return made


def _is_plain(message: Message) -> bool:
    return message.get("role") in ("user", "assistant", "system", "developer") and not message.get("tool_calls")


def joined(one: Any, other: Any) -> Any:
    """Two contents as one: parts stay parts, texts become one text."""
    if isinstance(one, list) and isinstance(other, list):
        return [*one, *other]
    return JOINT.join(text for text in (text_in(one), text_in(other)) if text)


def system_first(messages: list[Message]) -> list[Message]:
    """One system message, before all others."""
    system = [message for message in messages if message.get("role") in ("system", "developer")]
    rest = [message for message in messages if message.get("role") not in ("system", "developer")]
    if not system:
        return messages
    merged = {**system[0], "content": JOINT.join(text_in(message.get("content")) for message in system)}
    return [merged, *rest]


def system_as_user(messages: list[Message]) -> list[Message]:
    """Instructions as part of the first user message."""
    system = JOINT.join(text_in(m.get("content")) for m in messages if m.get("role") in ("system", "developer"))
    rest = [dict(message) for message in messages if message.get("role") not in ("system", "developer")]
    if not system:
        return messages
    for message in rest:
        if message.get("role") == "user":
            message["content"] = joined(system, message.get("content"))
            return rest
    return [{"role": "user", "content": system}, *rest]


def user_last(messages: list[Message]) -> list[Message]:
    """Without the answers at the end, so that a user's message is the last."""
    kept = list(messages)
    while kept and kept[-1].get("role") == "assistant":
        kept.pop()
    return kept


def tools_answered(messages: list[Message]) -> list[Message]:
    """Without tool results that answer no call, and without calls that nothing answers."""
    answered = {str(m.get("tool_call_id")) for m in messages if m.get("role") == "tool"}
    called: set[Any] = set()
    made: list[Message] = []
    for message in messages:
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            kept = [call for call in calls if isinstance(call, dict) and str(call.get("id")) in answered]
            called.update(str(call.get("id")) for call in kept)
            rest = {key: value for key, value in message.items() if key != "tool_calls"}
            if kept:
                made.append({**rest, "tool_calls": kept})
            elif rest.get("content"):
                made.append(rest)
        elif message.get("role") == "tool" and str(message.get("tool_call_id")) not in called:
            made.append({"role": "user", "content": text_in(message.get("content")) or "…"})
        else:
            made.append(message)
    return made


CHANGES: tuple[tuple[Callable[[list[Message]], list[Message]], str, str, float], ...] = (
    (merge_same, "merge neighbouring messages of the same role", "Roles then alternate; nothing is lost.", 0.95),
    (
        system_first,
        "put the system message at the beginning",
        "There is one system message, and it is the first.",
        0.95,
    ),
    (system_as_user, "move the system text into the first user message", "No system message is left.", 0.85),
    (tools_answered, "send tool results as user messages", "Each tool result then answers a call that is there.", 0.8),
    (user_last, "end with the last user message", "The answer at the end is left out.", 0.7),
)
