"""What is said between llmdebug and the tokenizer's process: one msgpack value a message, its length before it."""

from __future__ import annotations

import struct
from array import array
from typing import BinaryIO

import msgspec

from llmdebug.tokens.values import Cells, Difference, Reading, TemplateFault, Vocabulary

LENGTH = struct.Struct(">I")
MAX_MESSAGE = 512_000_000
STEP = 20_000
"""Tokens that are unpacked in one go."""
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
    """A Reading with each kind of token once: a million tokens are unpacked without holding anybody up."""

    text: str
    ids: bytes
    """Each in eight bytes, of this machine's order."""
    pieces: dict[int, bytes]
    """What each id stands for."""
    marks: str
    difference: Difference | None


class Faulty(msgspec.Struct, frozen=True, tag=True):
    fault: TemplateFault


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The order could not be carried out; the text is a sentence for the user."""

    message: str


Order = Load | Encode | Decode | Render
Answer = Stage | Loaded | Read | Faulty | Failed


def told(reading: Reading) -> Read:
    cells = reading.cells
    pieces = dict(zip(cells.ids, cells.pieces, strict=True))
    return Read(reading.text, array("q", cells.ids).tobytes(), pieces, cells.marks, reading.difference)


def reading_of(read: Read) -> Reading:
    """In steps, as threads take turns only between them: call it in one."""
    numbers = array("q")
    numbers.frombytes(read.ids)
    ids: list[int] = []
    pieces: list[bytes] = []
    for start in range(0, len(numbers), STEP):
        step = numbers[start : start + STEP]
        ids += step
        pieces += map(read.pieces.__getitem__, step)
    return Reading(text=read.text, cells=Cells(tuple(ids), tuple(pieces), read.marks), difference=read.difference)


def packed(message: Order | Answer) -> bytes:
    data = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(data)) + data


def receive_order(stream: BinaryIO) -> Order | None:
    """The next order; None at the end."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    return msgspec.msgpack.decode(stream.read(*LENGTH.unpack(head)), type=Order)
