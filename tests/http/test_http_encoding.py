from __future__ import annotations

import gzip
import zlib

from hypothesis import given
from hypothesis import strategies as st

from llmdebug.http.encoding import ContentDecoder, content_decoder


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def undone(decoder: ContentDecoder, data: bytes, step: int) -> bytes:
    pieces = [decoder.feed(data[at : at + step]) for at in range(0, len(data), step)]
    return b"".join(pieces) + decoder.flush()


@given(st.binary(max_size=2000), st.integers(1, 50))
def test_each_coding_is_undone_from_any_pieces(data: bytes, step: int) -> None:
    packed = {
        "gzip": gzip.compress(data),
        "x-gzip": gzip.compress(data[:5]) + gzip.compress(data[5:]),
        "deflate": zlib.compress(data),
        "Deflate ": raw_deflate(data),
        "deflate, gzip": gzip.compress(zlib.compress(data)),
    }
    for coding, body in packed.items():
        decoder = content_decoder(coding)
        assert undone(decoder, body, step) == data, coding
        assert not decoder.damaged


@given(st.binary(max_size=200), st.integers(1, 50))
def test_bytes_in_no_coding_never_raise(data: bytes, step: int) -> None:
    for coding in ("gzip", "deflate", "gzip, gzip", "br", "identity", "", "nonsense"):
        undone(content_decoder(coding), data, step)


def test_a_body_that_is_not_packed_is_passed_on() -> None:
    body = b'{"error": "plain, whatever the header says"}'
    assert undone(content_decoder("gzip"), body, 7) == body


def test_a_body_in_an_unknown_coding_is_passed_on() -> None:
    assert undone(content_decoder("zstd"), b"\x28\xb5\x2f\xfd", 2) == b"\x28\xb5\x2f\xfd"


def test_damage_is_told() -> None:
    packed = gzip.compress(bytes(range(256)) * 100)
    broken_off = content_decoder("gzip")
    assert undone(broken_off, packed[:-30], 64)
    assert broken_off.damaged
    spoilt = content_decoder("gzip")
    undone(spoilt, packed[:100] + b"\xff" * 50 + packed[150:], 64)
    assert spoilt.damaged
