from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.debugger import sources
from llmdebug.debugger.outcome import Outcome, outcome
from llmdebug.debugger.replacement import body_bytes, replacement
from llmdebug.debugger.visible import visible
from llmdebug.diagnosis.verdict import RemedyRequest
from llmdebug.http.exchange import Exchange, Failure, Headers, Request, Response
from llmdebug.recording.folder import HistoryError

GET = Request(method="GET", url="http://h/")
BROKE_OFF = Failure(kind="incomplete", message="m")
STREAM = (("Content-Type", "text/event-stream"),)


@pytest.mark.parametrize(
    ("exchange", "expected"),
    [
        (Exchange(request=GET, failure=BROKE_OFF), "no_answer"),
        (Exchange(request=GET), "no_answer"),
        (Exchange(request=GET, response=Response(status=204)), "answered"),
        (Exchange(request=GET, response=Response(status=200), failure=BROKE_OFF), "no_answer"),
        (Exchange(request=GET, response=Response(status=500), failure=BROKE_OFF), "refused"),
        (Exchange(request=GET, response=Response(status=302)), "refused"),
        (Exchange(request=GET, response=Response(status=200, body=b'{"choices": []}')), "answered"),
        (
            Exchange(request=GET, response=Response(status=200, headers=STREAM, body=b'data: {"error": "no"}\n\n')),
            "refused",
        ),
    ],
)
def test_how_an_exchange_ended(exchange: Exchange, expected: Outcome) -> None:
    assert outcome(exchange) == expected


@pytest.mark.parametrize(
    ("headers", "proposed", "expected"),
    [
        ((("A", "1"), ("B", "2"), ("a", "3")), {}, (("A", "1"), ("B", "2"), ("a", "3"))),
        ((("A", "1"), ("B", "2"), ("a", "3")), {"B": "2", "a": "3"}, (("A", "1"), ("B", "2"), ("a", "3"))),
        ((("A", "1"), ("B", "2")), {"a": "9", "B": "2"}, (("B", "2"), ("a", "9"))),
        ((("A", "1"), ("B", "2")), {"A": "1"}, (("A", "1"),)),
        ((("Content-Length", "99"), ("Host", "h"), ("Content-Encoding", "gzip")), {}, (("Host", "h"),)),
    ],
)
def test_headers_of_a_remedy(headers: Headers, proposed: dict[str, str], expected: Headers) -> None:
    original = Request(method="POST", url="http://h/a", headers=headers)
    made = replacement(RemedyRequest(method="PUT", url="http://h/b", headers=proposed), original)
    assert made == Request(method="PUT", url="http://h/b", headers=expected)


def test_another_server_gets_its_own_host_and_a_body_its_type() -> None:
    original = Request(method="GET", url="http://h/a", headers=(("Host", "h"),))
    made = replacement(RemedyRequest(method="POST", url="http://g/a", body={"é": 1}), original)
    assert made.headers == (("Content-Type", "application/json"),)
    assert made.body == '{"é": 1}'.encode()


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=5))
def test_every_json_value_can_be_a_body(value: object) -> None:
    assert json.loads(body_bytes(value)) == value


def test_half_a_surrogate_pair_can_be_a_body() -> None:
    assert json.loads(body_bytes({"a": "\ud83d"})) == {"a": "\ud83d"}


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_nothing_that_is_shown_steers_a_terminal(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert all(letter in "\n\t" or letter.isprintable() or ord(letter) > 0x9F for letter in shown)
    assert not set(shown) & set("\x1b\x9b\r\u202e\u2066")


def test_signs_of_what_was_there() -> None:
    assert visible("a\r\n\x1b[31mb\x9b\u202e\t\ud800") == "a\n␛[31mb\\x9b\\u202e\t?"


def test_the_nearest_base_url_is_remembered(tmp_path: Path) -> None:
    sources.remember("https://GW/team/v1/", ["/a"])
    sources.remember("https://gw", ["/b", "/c"])
    assert sources.remembered("https://gw/team/v1/chat/completions?x=1") == ("/a",)
    assert sources.remembered("https://gw/team/v12") == ("/b", "/c")
    assert sources.remembered("http://gw/team/v1") == ()
    sources.remember("https://gw", ["/d"])
    assert sources.remembered("https://gw/") == ("/d",)


def test_no_password_is_remembered(tmp_path: Path) -> None:
    sources.remember("https://me:hunter22@gw/v1?api_key=hunter22", ["/a"])
    file = tmp_path / "state" / sources.FILE_NAME
    assert "hunter22" not in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert sources.remembered("https://gw/v1/models") == ("/a",)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"a": 1}', b"\xff", b"9" * (sources.MAX_BYTES + 1)])
def test_a_damaged_memory_is_none(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / sources.FILE_NAME).write_bytes(data)
    assert sources.remembered("http://h") == ()
    sources.remember("http://h", ["/a"])
    assert sources.remembered("http://h") == ("/a",)


def test_a_memory_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    with pytest.raises(HistoryError, match="LLMDEBUG_STATE_DIR"):
        sources.remember("http://h", ["/a"])


def test_the_oldest_servers_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MAX_SERVERS", 2)
    for name in ("a", "b", "a", "c"):
        sources.remember(f"http://{name}", [f"/{name}"])
    assert [sources.remembered(f"http://{name}") for name in "abc"] == [("/a",), (), ("/c",)]
