from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmdebug.http.exchange import StreamEvent
from llmdebug.http.stream import JsonLinesDecoder, LineSplitter, SseDecoder, StreamDecoder, last_event, stream_decoder


def events(decoder: StreamDecoder, *pieces: bytes) -> list[tuple[str, str]]:
    found: list[StreamEvent] = []
    for piece in pieces:
        found += decoder.feed(piece, 1.0)
    found += decoder.flush(2.0)
    return [(event.event, event.data) for event in found]


def test_events_with_every_line_end() -> None:
    text = b"data: a\n\ndata:b\r\n\r\nevent: ping\rdata: c\r\r"
    assert events(SseDecoder(), text) == [("", "a"), ("", "b"), ("ping", "c")]


def test_data_of_several_lines_comments_and_unknown_fields() -> None:
    text = b"\xef\xbb\xbf: hello\ndata: a\ndata\ndata:  b\nid: 7\nretry: 9\nnonsense\n\n: keep-alive\n\nevent: x\n\n"
    assert events(SseDecoder(), text) == [("", "a\n\n b")]


def test_an_event_that_breaks_off_is_given_at_the_end() -> None:
    assert events(SseDecoder(), b'event: error\ndata: {"a"') == [("error", '{"a"')]


def test_an_event_is_given_with_its_last_byte() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\r", 1.0) == []
    assert decoder.feed(b"\n\r", 2.5) == [StreamEvent(data="a", at=2.5)]
    assert decoder.feed(b"\ndata: b\n\n", 3.0) == [StreamEvent(data="b", at=3.0)]


def test_split_utf8_and_bytes_that_are_none() -> None:
    euro = "data: €\n\n".encode()
    assert events(SseDecoder(), euro[:7], euro[7:8], euro[8:]) == [("", "€")]
    assert events(SseDecoder(), b"data: \xff\n\n") == [("", "\ufffd")]


def test_a_huge_line_is_cut() -> None:
    decoder = SseDecoder(limit=100)
    pieces = [b"data: "] + [b"x" * 50] * 1000 + [b"\n\ndata: y\n\n"]
    assert events(decoder, *pieces) == [("", "x" * 94), ("", "y")]


def test_many_data_lines_are_cut() -> None:
    found = events(SseDecoder(limit=100), b"data: 1234567890\n" * 1000 + b"\n")
    assert len(found[0][1]) < 200


def test_json_lines() -> None:
    text = b'{"a":1}\r\n\n  {"b":2}\n{"c":'
    assert events(JsonLinesDecoder(), text) == [("", '{"a":1}'), ("", '{"b":2}'), ("", '{"c":')]


def test_which_answers_are_streams() -> None:
    assert isinstance(stream_decoder("Text/Event-Stream; charset=utf-8"), SseDecoder)
    assert isinstance(stream_decoder("application/x-ndjson"), JsonLinesDecoder)
    assert stream_decoder("application/json") is None
    assert stream_decoder(None) is None


SSE_TEXT = st.lists(
    st.sampled_from([b"data: a", b"data", b"\n", b"\r", b"\r\n", b":", b"event: e", b"\xc3\xa9", b"\xff"])
)


@given(SSE_TEXT, st.data())
def test_pieces_do_not_matter(parts: list[bytes], data: st.DataObject) -> None:
    text = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert events(SseDecoder(), *pieces) == events(SseDecoder(), text)
    assert events(JsonLinesDecoder(), *pieces) == events(JsonLinesDecoder(), text)


@given(st.lists(st.binary(max_size=8).filter(lambda line: b"\n" not in line), min_size=1))
def test_lines_are_what_stood_between_line_feeds(lines: list[bytes]) -> None:
    splitter = LineSplitter(rb"\n")
    found = splitter.feed(b"\n".join(lines))
    assert [*found, splitter.flush()] == lines


@given(
    st.sampled_from(["text/event-stream", "application/x-ndjson", "application/json"]),
    st.lists(
        st.sampled_from(["data: a", "data:b", "event: e", ": c", "\n", "\r\n", "\r", "\n\n", "x" * 9]), max_size=40
    ),
)
@settings(max_examples=400)
def test_the_last_event_is_that_of_the_whole_stream(content_type: str, pieces: list[str]) -> None:
    body = "".join(pieces).encode()
    decoder = stream_decoder(content_type)
    events = [] if decoder is None else [*decoder.feed(body, 0.0), *decoder.flush(0.0)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("llmdebug.http.stream._TAIL_BYTES", 5)
        assert last_event(content_type, body) == (events[-1] if events else None)
