"""Bytes on stdout, all of them."""

from __future__ import annotations

from typing import TextIO


def write_bytes(stream: TextIO, data: bytes) -> None:
    """At once, after the text before them; where PYTHONUNBUFFERED is set, a write may take only a part."""
    stream.flush()
    left = memoryview(data)
    while left:
        left = left[stream.buffer.write(left) :]
    stream.buffer.flush()
