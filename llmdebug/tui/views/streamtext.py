"""The text of a stream, put together from its events: content, reasoning, tool calls, errors.

Knows the shapes that the OpenAI-compatible servers share (deltas, whole texts, `response` pieces) by their
keys alone; an event nobody foresaw is left out of the text and shown in the list of events.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from llmdebug.http.exchange import StreamEvent

_decoder = msgspec.json.Decoder()


class Pieces:
    """A text that grows; what was added is joined when it is asked for."""

    __slots__ = ("_pieces",)

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def add(self, piece: str) -> None:
        self._pieces.append(piece)

    def __str__(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""


@dataclass(slots=True)
class Call:
    """A tool call as its pieces arrive."""

    name: str = ""
    written: Pieces = field(default_factory=Pieces)

    @property
    def arguments(self) -> str:
        return str(self.written)


@dataclass(slots=True)
class Said:
    """What one choice said."""

    spoken: Pieces = field(default_factory=Pieces)
    thought: Pieces = field(default_factory=Pieces)
    calls: dict[int, Call] = field(default_factory=dict)
    finish: str = ""
    role: str = ""

    @property
    def text(self) -> str:
        return str(self.spoken)

    @property
    def reasoning(self) -> str:
        return str(self.thought)


@dataclass(slots=True)
class StreamText:
    """Fed event by event."""

    choices: dict[int, Said] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    usage: dict[str, Any] | None = None

    def feed(self, event: StreamEvent) -> None:
        if event.data.strip() == "[DONE]":
            return
        try:
            value = _decoder.decode(event.data.encode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            return
        if isinstance(value, dict):
            self._object(value)

    def _object(self, value: dict[str, Any]) -> None:
        if value.get("error"):
            error = value["error"]
            told = error.get("message") if isinstance(error, dict) else error
            self.errors.append(str(told))
        if isinstance(value.get("usage"), dict):
            self.usage = value["usage"]
        choices = value.get("choices")
        if isinstance(choices, list):
            for place, choice in enumerate(choices):
                if isinstance(choice, dict):
                    index = choice.get("index", place)
                    self._choice(index if isinstance(index, int) else place, choice)
            return
        self._choice(0, value)

    def _choice(self, index: int, choice: dict[str, Any]) -> None:
        said = self.choices.setdefault(index, Said())
        message = choice.get("delta") or choice.get("message") or {}
        for piece in (choice, message if isinstance(message, dict) else {}):
            for key in ("text", "content", "response"):
                if isinstance(piece.get(key), str):
                    said.spoken.add(piece[key])
            for key in ("reasoning_content", "reasoning", "thinking"):
                if isinstance(piece.get(key), str):
                    said.thought.add(piece[key])
            if isinstance(piece.get("role"), str):
                said.role = piece["role"]
            if isinstance(piece.get("finish_reason"), str):
                said.finish = piece["finish_reason"]
            if isinstance(piece.get("tool_calls"), list):
                self._calls(said, piece["tool_calls"])

    def _calls(self, said: Said, calls: list[Any]) -> None:
        for place, piece in enumerate(calls):
            if not isinstance(piece, dict):
                continue
            index = piece.get("index", place)
            call = said.calls.setdefault(index if isinstance(index, int) else place, Call())
            function = piece.get("function")
            if isinstance(function, dict):
                call.name += function.get("name") or ""
                arguments = function.get("arguments")
                call.written.add(arguments if isinstance(arguments, str) else "")


def stream_text(events: Iterable[StreamEvent]) -> StreamText:
    """All of a stream at once."""
    text = StreamText()
    for event in events:
        text.feed(event)
    return text


def body_text(body: bytes) -> StreamText | None:
    """The text of a whole answer; None where it holds none."""
    text = StreamText()
    try:
        value = _decoder.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(value.get("choices"), list):
        return None
    text.feed(StreamEvent(data=body.decode("utf-8", "replace"), at=0.0))
    return text if text.choices else None


def assistant_turn(text: StreamText) -> dict[str, Any] | None:
    """The first choice as a message to append to a chat; None where it said nothing."""
    said = text.choices.get(0)
    if said is None or not (said.text or said.calls):
        return None
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if said.calls:
        message["tool_calls"] = [
            {"id": f"call_{n}", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for n, call in sorted(said.calls.items())
        ]
    return message
