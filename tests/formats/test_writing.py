from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from raw_server import RawServer

from llmdebug.formats.batch import is_batch, read_batch, write_batch
from llmdebug.formats.errors import FormatError
from llmdebug.formats.har import each_entry, read_document
from llmdebug.formats.har_writing import har_pieces
from llmdebug.formats.loading import format_of, load_exchanges, open_exchanges
from llmdebug.formats.python_writing import httpx_script, openai_script
from llmdebug.formats.writing import Output, pieces, without_secrets
from llmdebug.http.exchange import Exchange, Failure, Request, Response, Timing

JSON = (("Content-Type", "application/json"),)
CHAT = {"model": "alice", "messages": [{"role": "user", "content": "hi"}], "top_k": 3}


def post(body: object, path: str = "/v1/chat/completions", **fields: Any) -> Request:
    return Request(method="POST", url=f"http://h.test{path}", headers=JSON, body=json.dumps(body).encode(), **fields)


def answered(request: Request, status: int = 200, body: object = None) -> Exchange:
    return Exchange(
        request=request,
        response=Response(status=status, reason="OK", headers=JSON, body=json.dumps(body).encode()),
        timing=Timing(started_at=1_700_000_000.0, first_byte=0.25, end=0.5),
    )


# Round trips, up to what each format declares that it loses.

texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
bodies = st.dictionaries(texts, values, max_size=4)
headers = st.lists(
    st.tuples(st.from_regex(r"X-[A-Z][a-z]{1,4}", fullmatch=True), st.from_regex(r"[!-~]{1,9}", fullmatch=True)),
    max_size=3,
)
exchanges = st.builds(
    lambda body, extra, raw, status, name, failed: Exchange(
        request=Request(
            method="POST",
            url="http://h.test/v1/x?a=b",
            headers=(*JSON, *extra),
            body=raw or json.dumps(body).encode(),
            name=name,
        ),
        response=None if failed else Response(status=status, reason="R", headers=JSON, body=raw),
        failure=Failure(kind="reset", message="gone") if failed else None,
        timing=Timing(started_at=1_700_000_000.25, first_byte=0.125, end=0.5),
    ),
    bodies,
    headers,
    st.binary(max_size=8),
    st.integers(200, 599),
    st.from_regex(r"[a-z]{0,5}", fullmatch=True),
    st.booleans(),
)


@given(st.lists(exchanges, max_size=3))
def test_har_reads_back(given_exchanges: list[Exchange]) -> None:
    written = b"".join(har_pieces(given_exchanges))
    assert list(each_entry(read_document(written, ""), "")) == given_exchanges


@given(st.lists(exchanges, min_size=1, max_size=3))
def test_json_lines_read_back(given_exchanges: list[Exchange]) -> None:
    assert load_exchanges(b"".join(pieces(given_exchanges, "jsonl"))) == given_exchanges


@given(
    st.lists(
        st.tuples(
            bodies,
            st.none() | st.tuples(st.integers(200, 599), values.filter(lambda value: not isinstance(value, str))),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_batch_reads_back_but_for_its_headers_and_times(given_items: list[tuple[Any, Any]]) -> None:
    before = [
        Exchange(request=post(body, name=f"r{number}"))
        if answer is None
        else Exchange(
            request=post(body, name=f"r{number}"),
            response=Response(
                status=answer[0],
                headers=JSON,
                body=b"" if answer[1] is None else json.dumps(answer[1], ensure_ascii=False).encode(),
            ),
        )
        for number, (body, answer) in enumerate(given_items)
    ]
    lines = list(write_batch(before))
    requests, answers = b"".join(line for line, _ in lines), b"".join(line for _, line in lines)
    assert is_batch(requests)
    read = read_batch(requests, base_url="http://h.test", answers={"a": answers} if answers else {})
    after = [read.exchange(number) for number in range(len(read))]
    assert [json.loads(one.request.body) for one in after] == [json.loads(one.request.body) for one in before]
    assert [(one.request.url, one.request.name) for one in after] == [
        (one.request.url, one.request.name) for one in before
    ]
    assert [one.response for one in after] == [one.response for one in before]


# Batches.


def test_answers_and_errors_are_joined_by_custom_id(tmp_path: Path) -> None:
    requests, output, errors = tmp_path / "in.jsonl", tmp_path / "out.jsonl", tmp_path / "err.jsonl"
    lines = [{"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": CHAT} for name in "abcd"]
    requests.write_text("".join(json.dumps(line) + "\n" for line in lines))
    answer = {
        "id": "1",
        "custom_id": "b",
        "response": {"status_code": 400, "request_id": "r", "body": {"error": {}}},
        "error": None,
    }
    output.write_text(json.dumps(answer) + "\n")
    error = {"id": "2", "custom_id": "d", "response": None, "error": {"code": "expired", "message": "It expired."}}
    errors.write_text(json.dumps(error) + "\n")
    found = open_exchanges(str(requests), answers=[str(output), str(errors)], base_url="http://h:1/v1")
    assert found.format == "batch"
    assert [found.row(number).status for number in range(4)] == [None, 400, None, None]
    assert found.row(0).url == "http://h:1/v1/chat/completions"
    last = found.exchange(3)
    assert last.failure is not None
    assert last.failure.message == "It expired."


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"custom_id": "a"}', "f:1: This line has no url"),
        ('{"custom_id": "a", "url": "/x"}', "f:1: This line has no body"),
        ('{"url": "/x"}', "f:1: This line has no custom_id."),
        ('\n{"custom_id": "a", ', "f:2: This line is no JSON"),
        ("[]", "f:1: This line is no JSON object."),
        ('{"custom_id": "a", "response": {}}', "f:1: This line is an answer of a batch"),
        ('{"custom_id": "a", "url": "/x", "body": {}, "method": 3}', "f:1: The method"),
    ],
)
def test_what_is_no_batch_is_told_with_its_line(text: str, told: str) -> None:
    with pytest.raises(FormatError) as error:
        read_batch(text.encode(), path="f")
    assert str(error.value).startswith(told)


def test_bad_lines_are_told_and_the_others_work() -> None:
    good = '{"custom_id": "%s", "url": "/x", "body": {}}'
    lines = [good % "a", '{"url": "/x"}', good % "a", '{"custom_id": "c"', '{"custom_id": "d", "body": {}}', good % "e"]
    read = read_batch("\n".join(lines).encode(), path="f", base_url="http://h")
    told = [read.problem(number) for number in range(6)]
    assert (told[0], told[5]) == ("", "")
    assert told[1] == "f:2: This line has no custom_id."
    assert told[2] == "f:3: The custom_id 'a' stands in line 1 already."
    assert told[3].startswith("f:4: This line is no JSON")
    assert told[4] == "f:5: This line has no url that begins with '/'."
    answer = b'{"custom_id": "a", "response": {"status_code": "good"}}'
    with pytest.raises(FormatError, match="out:1: The status_code of this line is none that HTTP has"):
        read_batch((good % "a").encode(), answers={"out": answer})


def test_answers_to_nothing_are_told() -> None:
    line = b'{"custom_id": "a", "url": "/x", "body": {}}'
    with pytest.raises(FormatError, match="out: 1 answers belong to no request of in, the first to 'b'"):
        read_batch(line, path="in", answers={"out": b'{"custom_id": "b", "response": {"status_code": 200}}'})


def test_what_a_batch_cannot_hold_is_told_with_its_entry() -> None:
    good, bad = Exchange(request=post({})), Exchange(request=Request(method="GET", url="http://h/v1/models"))
    with pytest.raises(FormatError, match="entry 2: The request is no POST"):
        list(write_batch([good, bad]))


@given(st.binary(max_size=60))
def test_any_bytes_are_a_batch_or_a_sentence(data: bytes) -> None:
    try:
        read_batch(data)
    except FormatError as error:
        assert error.message


# Which format a file has.


@pytest.mark.parametrize(
    ("name", "text", "known"),
    [
        ("a.har", "x", "har"),
        ("a.txt", "curl http://h/", "curl"),
        ("a.sh", "#!/bin/sh\nset -e\ncurl http://h/", "curl"),
        ("a", "GET http://h/", "http"),
        ("a.json", '{"log": {}}', "har"),
        ("a.jsonl", '{"custom_id": "a", "url": "/x", "body": {}}\n', "batch"),
        ("a.jsonl", '{"record":"request","id":"1","at":1,"request":{"method":"GET","url":"http://h"}}\n', "jsonl"),
    ],
)
def test_a_file_tells_its_format(name: str, text: str, known: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert format_of(str(tmp_path / name)) == known


def test_an_empty_file_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text(" \n")
    with pytest.raises(FormatError, match="empty"):
        open_exchanges(str(tmp_path / "e.jsonl"))


# Python.

SENT = [
    post(CHAT),
    post({"a": [1, 2.5, None, True], "text": 'it\'s "quoted"\n\u00e9' + "long " * 40}),
    Request(
        method="POST", url="http://h.test/x", headers=(("Content-Type", "application/json"),), body=b'{"a": 1, "a": 2}'
    ),
    Request(method="PUT", url="http://h.test/x?a=b&c", headers=(("X-A", "1"), ("X-A", "2")), body=b"\x00\xff"),
    Request(
        method="POST", url="http://h.test/x", headers=(("Content-Type", "text/plain"),), body="z\u00fcrich\n".encode()
    ),
    Request(method="GET", url="http://h.test/x", headers=(("Authorization", "Bearer {{secret:MY_KEY}}"),)),
]


@pytest.mark.parametrize("number", range(len(SENT)))
async def test_the_httpx_script_sends_the_request(number: int) -> None:
    import asyncio

    async with RawServer() as server:
        place = await server.start(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        request = msgspec.structs.replace(SENT[number], url=SENT[number].url.replace("h.test", place))
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", httpx_script(request)],
            capture_output=True,
            env={"MY_KEY": "sk-1"},
            check=False,
        )
        assert done.stdout.split() == [b"200", b"hello"], done.stderr.decode()
        head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(f"{request.method} {request.url.partition(place)[2]} ".encode())
    for name, value in request.headers:
        assert f"{name}: {value}".replace("{{secret:MY_KEY}}", "sk-1").lower().encode() in head.lower()
    same = body == request.body or json.loads(body) == json.loads(request.body)
    assert same


class FakeClient:
    """Stands for the client: keeps how it was made and called."""

    def __init__(self, **made: Any) -> None:
        self.made = made
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        CLIENTS.append(self)

    def __getattr__(self, name: str) -> Any:
        return _Path(self, name)


class _Path:
    def __init__(self, client: FakeClient, name: str) -> None:
        self._client, self._name = client, name

    def __getattr__(self, name: str) -> _Path:
        return _Path(self._client, f"{self._name}.{name}")

    def __call__(self, *args: Any, **named: Any) -> list[str]:
        self._client.calls.append((self._name, args, named))
        return ["answer"]


CLIENTS: list[FakeClient] = []


def called(
    request: Request, monkeypatch: pytest.MonkeyPatch
) -> tuple[FakeClient, str, tuple[Any, ...], dict[str, Any]]:
    import types

    module = types.ModuleType("openai")
    module.OpenAI = FakeClient  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "openai", module)
    monkeypatch.setenv("MY_KEY", "sk-1")
    exec(compile(openai_script(request), "script", "exec"), {})
    client = CLIENTS[-1]
    [(name, args, named)] = client.calls
    return client, name, args, named


def test_the_openai_script_calls_the_method_of_the_route(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    request = post(CHAT, "/team/v1/chat/completions")
    secret = (("Authorization", "Bearer {{secret:MY_KEY}}"), ("X-Trace", "t"))
    request = msgspec.structs.replace(request, headers=(*JSON, *secret))
    client, name, _, named = called(request, monkeypatch)
    assert client.made == {"base_url": "http://h.test/team/v1", "api_key": "sk-1"}
    assert name == "chat.completions.create"
    assert named.pop("extra_body") == {"top_k": 3}
    assert named.pop("extra_headers") == {"X-Trace": "t"}
    assert named == {"model": "alice", "messages": CHAT["messages"]}
    assert "answer" in capsys.readouterr().out


def test_the_openai_script_streams_lists_models_and_reaches_other_routes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, name, _, named = called(post({"prompt": "x", "stream": True}, "/v1/completions"), monkeypatch)
    assert (name, named) == ("completions.create", {"prompt": "x", "stream": True})
    client, name, _, named = called(Request(method="GET", url="http://h.test/v1/models"), monkeypatch)
    assert (client.made["base_url"], name, named) == ("http://h.test/v1", "models.list", {})
    client, name, args, named = called(post({"input_ids": [1]}, "/generate?a=1"), monkeypatch)
    assert (client.made["base_url"], name, args) == ("http://h.test", "post", ("/generate?a=1",))
    assert named == {"cast_to": object, "body": {"input_ids": [1]}}
    assert capsys.readouterr().out.count("answer") == 3


@given(bodies, st.sampled_from(["/v1/chat/completions", "/x"]))
def test_any_body_makes_a_script_that_compiles(body: Any, path: str) -> None:
    for script in (httpx_script(post(body, path)), openai_script(post(body, path))):
        compile(script, "script", "exec")


# All of them.


@pytest.mark.parametrize("output", ["har", "jsonl", "http", "curl", "batch", "httpx", "openai"])
def test_no_format_shows_a_secret_unless_asked(output: Output) -> None:
    key = "sk-0123456789abcdef"
    request = msgspec.structs.replace(
        post({"user": "u", "api_key": key}), headers=(*JSON, ("Authorization", f"Bearer {key}"))
    )
    exchange = answered(request, body={"echo": key})
    assert key.encode() in b"".join(pieces([exchange], output))
    assert key.encode() not in b"".join(pieces(without_secrets([exchange]), output))
