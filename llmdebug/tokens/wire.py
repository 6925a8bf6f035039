"""What is said between llmdebug and the tokenizer's process: one msgpack value a message, its length before it."""

from __future__ import annotations

import struct
from typing import BinaryIO

import msgspec

from llmdebug.tokens.values import Reading, TemplateFault, Vocabulary

LENGTH = struct.Struct(">I")
MAX_MESSAGE = 512_000_000
ANSWER_S = 30.0
"""Longest a text or a list of ids may take."""


class Load(msgspec.Struct, frozen=True, tag=True):
    """The first order: everything else is about this tokenizer. Answered with a Vocabulary."""

    name: str
    hub: bool


class Encode(msgspec.Struct, frozen=True, tag=True):
    """Answered with a Reading."""

    text: str
    special: bool


class Decode(msgspec.Struct, frozen=True, tag=True):
    """Answered with a Reading."""

    ids: tuple[int, ...]


class Render(msgspec.Struct, frozen=True, tag=True):
    """Answered with a Reading of the rendered text, or a TemplateFault."""

    chat: bytes
    """A Chat as JSON: its numbers may have any number of digits."""
    template: str | None
    seconds: float
    """Longest the template may take."""


class Stage(msgspec.Struct, frozen=True, tag=True):
    """What is being done, as words to show; more answers follow."""

    what: str
    seconds: float | None = None
    """The next answer comes within, or never; None leaves that as it is."""


class Loaded(msgspec.Struct, frozen=True, tag=True):
    vocabulary: Vocabulary


class Read(msgspec.Struct, frozen=True, tag=True):
    reading: Reading


class Faulty(msgspec.Struct, frozen=True, tag=True):
    fault: TemplateFault


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The order could not be carried out; the text is a sentence for the user."""

    message: str


Order = Load | Encode | Decode | Render
Answer = Stage | Loaded | Read | Faulty | Failed


def packed(message: Order | Answer) -> bytes:
    data = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(data)) + data


def receive_order(stream: BinaryIO) -> Order | None:
    """The next order; None at the end."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    return msgspec.msgpack.decode(stream.read(*LENGTH.unpack(head)), type=Order)
