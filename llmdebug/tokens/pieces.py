"""The bytes that single tokens stand for, and which of them are text.

A byte-level tokenizer writes each byte as a character of its own alphabet; one with byte fallback has a token
`<0xE4>` for each byte; WordPiece and its like know only characters. Neighbours decide whether the bytes of a
token are part of a character or broken UTF-8, so marks are made over all tokens of a list at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

from llmdebug.tokens.values import BROKEN, PART, TEXT

Scheme = Literal["byte-level", "byte-fallback", "wordpiece", "characters"]

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
METASPACE = "\u2581"


def _byte_alphabet() -> dict[str, int]:
    """The alphabet of byte-level BPE: printable bytes are themselves, the others follow from 256 on."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in set(kept)]
    return {chr(byte): byte for byte in kept} | {chr(256 + place): byte for place, byte in enumerate(others)}


BYTE_ALPHABET = _byte_alphabet()


def scheme_of(decoder: Any) -> Scheme:
    """How tokens are written, by the decoder's JSON as `tokenizers` gives it."""
    steps = _steps(decoder)
    kinds = {step.get("type") for step in steps}
    if "ByteLevel" in kinds:
        return "byte-level"
    if "ByteFallback" in kinds:
        return "byte-fallback"
    return "wordpiece" if "WordPiece" in kinds else "characters"


def space_of(decoder: Any) -> str:
    """The character that stands for a space; empty where none does."""
    for step in _steps(decoder):
        if step.get("type") == "Metaspace":
            return str(step.get("replacement", METASPACE))
        if step.get("type") == "Replace" and step.get("content") == " ":
            pattern = step.get("pattern")
            if isinstance(pattern, dict) and isinstance(pattern.get("String"), str):
                return str(pattern["String"])
    return ""


def _steps(decoder: Any) -> list[dict[str, Any]]:
    """A decoder's steps, flat."""
    if not isinstance(decoder, dict):
        return []
    if decoder.get("type") == "Sequence":
        return [step for inner in decoder.get("decoders", []) for step in _steps(inner)]
    return [decoder]


def bytes_of(scheme: Scheme, space: str) -> Callable[[str], bytes]:
    """What turns the text of an ordinary token into its bytes."""

    def of_byte_level(token: str) -> bytes:
        try:
            return bytes([BYTE_ALPHABET[character] for character in token])
        except KeyError:
            return token.encode("utf-8", "surrogatepass")

    def of_characters(token: str) -> bytes:
        found = _BYTE_TOKEN.fullmatch(token) if scheme == "byte-fallback" else None
        if found:
            return bytes([int(found[1], 16)])
        return (token.replace(space, " ") if space else token).encode("utf-8", "surrogatepass")

    return of_byte_level if scheme == "byte-level" else of_characters


def marks_of(pieces: Sequence[bytes], known: str) -> str:
    """The marks of tokens whose bytes are `pieces`.

    `known` has SPECIAL and OUTSIDE where they apply, TEXT everywhere else: a special token or an id without one
    ends a character.
    """
    marks = list(known)
    start = 0
    while start < len(pieces):
        if marks[start] != TEXT:
            start += 1
            continue
        end = start
        while end < len(pieces) and marks[end] == TEXT:
            end += 1
        _mark_run(pieces, marks, start, end)
        start = end
    return "".join(marks)


def _mark_run(pieces: Sequence[bytes], marks: list[str], start: int, end: int) -> None:
    """Marks the tokens whose bytes alone are no text."""
    doubtful = [place for place in range(start, end) if not _is_text(pieces[place])]
    if not doubtful:
        return
    data = b"".join(pieces[start:end])
    broken = _broken_bytes(data)
    offset, offsets = 0, []
    for place in range(start, end):
        offsets.append(offset)
        offset += len(pieces[place])
    for place in doubtful:
        first = offsets[place - start]
        is_broken = any(at in broken for at in range(first, first + len(pieces[place])))
        marks[place] = BROKEN if is_broken else PART


def _is_text(piece: bytes) -> bool:
    try:
        piece.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _broken_bytes(data: bytes) -> set[int]:
    """Positions of bytes that are no UTF-8."""
    broken: set[int] = set()
    offset = 0
    for character in data.decode("utf-8", "surrogateescape"):
        if "\udc80" <= character <= "\udcff":
            broken.add(offset)
            offset += 1
        else:
            offset += len(character.encode("utf-8"))
    return broken
