"""Bytes of tokens and what they are together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmdebug.tokens.pieces import BYTE_ALPHABET, bytes_of, marks_of, scheme_of, space_of

LETTERS = {byte: letter for letter, byte in BYTE_ALPHABET.items()}


@given(st.lists(st.binary(min_size=1, max_size=4), max_size=12))
def test_marks_tell_text_parts_and_broken_bytes(pieces: list[bytes]) -> None:
    marks = marks_of(pieces, "t" * len(pieces))
    data = b"".join(pieces)
    assert ("x" in marks) == (data.decode("utf-8", "replace").encode() != data)
    for piece, mark in zip(pieces, marks, strict=True):
        assert mark != "t" or piece.decode("utf-8").encode() == piece


@given(st.text(), st.lists(st.integers(1, 5), min_size=1))
def test_a_text_cut_anywhere_is_never_broken(text: str, steps: list[int]) -> None:
    data = text.encode("utf-8", "replace")
    pieces: list[bytes] = []
    while data:
        step = steps[len(pieces) % len(steps)]
        pieces.append(data[:step])
        data = data[step:]
    marks = marks_of(pieces, "t" * len(pieces))
    assert "x" not in marks


def test_a_special_token_ends_a_character() -> None:
    assert marks_of([b"\xe4\xbd", b"<s>", b"\xa0"], "tst") == "xsx"


@given(st.binary())
def test_byte_level_letters_are_bytes(data: bytes) -> None:
    of_token = bytes_of("byte-level", "")
    assert of_token("".join(LETTERS[byte] for byte in data)) == data


def test_byte_tokens_and_spaces() -> None:
    of_token = bytes_of("byte-fallback", "▁")
    assert of_token("<0xE4>") == b"\xe4"
    assert of_token("▁the") == b" the"
    assert bytes_of("characters", "")("<0xE4>") == b"<0xE4>"


def test_the_decoder_tells_how_tokens_are_written() -> None:
    fallback = {"type": "ByteFallback"}
    replace = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    sequence = {"type": "Sequence", "decoders": [replace, fallback]}
    assert (scheme_of(sequence), space_of(sequence)) == ("byte-fallback", "▁")
    assert (
        scheme_of({"type": "Metaspace", "replacement": "_"}),
        space_of({"type": "Metaspace", "replacement": "_"}),
    ) == (
        "characters",
        "_",
    )
    assert (scheme_of(None), space_of("broken")) == ("characters", "")
