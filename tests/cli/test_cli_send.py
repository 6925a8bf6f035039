from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from raw_server import Answer, RawServer
from running import run, start

from llmdebug.demo.server import REQUESTS, DemoServer
from llmdebug.recording.history import History

BODY = '{"model": "alice", "prompt_token_ids": [361, 836, 603]}'


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    async with RawServer() as server:
        yield server


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "one.http"
    path.write_text(f"POST {{{{base_url}}}}/v1/completions\nContent-Type: application/json\n\n{BODY}\n")
    return str(path)


def answer(body: bytes, *, content_type: str = "application/json", status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def test_the_body_alone_goes_to_stdout(nanoserve: DemoServer) -> None:
    done = await run("send", f"{REQUESTS}#prompt-as-ids", "--base-url", nanoserve.base_url)
    assert done.code == 0
    assert json.loads(done.out)["object"] == "text_completion"
    assert done.says("POST", "/v1/completions", "200 OK", " ms")


async def test_a_body_is_passed_on_byte_for_byte(server: RawServer, file: str) -> None:
    body = b'{"a": 1.0, "a": 1e5,\xff\x00 NaN'
    place = await server.start(answer(body, content_type="application/octet-stream"))
    done = await run("send", file, "--url", f"http://{place}")
    assert (done.code, done.out) == (0, body)


async def test_a_refusal_is_exit_code_1(server: RawServer, file: str) -> None:
    place = await server.start(answer(b'{"detail": "no"}', status="418 I'm a teapot"))
    done = await run("send", file, "--url", f"http://{place}", "--no-diagnose")
    assert (done.code, done.out) == (1, b'{"detail": "no"}')
    assert done.says("418 I'm a teapot")


async def test_events_are_printed_as_they_come(server: RawServer, file: str) -> None:
    seen = asyncio.Event()

    async def two_events(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        writer.write(b'data: {"n": 1}\n\n')
        await writer.drain()
        await seen.wait()
        writer.write(b"data: [DONE]\n\n")

    process = await start("send", file, "--url", f"http://{await server.start(two_events)}")
    assert process.stdout is not None
    assert await process.stdout.readline() == b'{"n": 1}\n'
    seen.set()
    assert await process.stdout.read() == b"[DONE]\n"
    assert await process.wait() == 0


async def test_a_refused_connection_prints_the_request(file: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    done = await run("send", file, "--url", f"http://127.0.0.1:{port}", "-H", "Authorization: Bearer sk-very-secret")
    assert (done.code, done.out) == (3, b"")
    assert done.says(f"POST http://127.0.0.1:{port}/v1/completions", BODY, "refused the connection")
    assert "sk-very-secret" not in done.err


async def test_half_a_body_is_kept(server: RawServer, file: str) -> None:
    place = await server.start(answer(b"x" * 10)[:-5])
    done = await run("send", file, "--url", f"http://{place}")
    assert (done.code, done.out) == (3, b"xxxxx")
    assert done.says("broke off in the middle of its answer")


def never(server: RawServer) -> Answer:
    async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.until_hung_up(reader)

    return wait


async def test_a_server_that_never_answers(server: RawServer, file: str) -> None:
    place = await server.start(never(server))
    line = ["send", file, "--url", f"http://{place}"]
    by_flag = await run(*line, "--first-byte-timeout", "0.3")
    by_variable = await run(*line, env={"LLMDEBUG_FIRST_BYTE_TIMEOUT": "0.3"})
    for done in (by_flag, by_variable):
        assert done.code == 3
        assert done.says("sent no answer within 0.3 s", BODY)


async def test_a_stream_that_never_ends_is_kept(server: RawServer, file: str) -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n" + b'{"n": 1}\n')
        await server.until_hung_up(reader)

    place = await server.start(endless)
    done = await run("send", file, "--url", f"http://{place}", "--timeout", "0.5")
    assert (done.code, done.out) == (3, b'{"n": 1}\n')
    assert done.says("was not done within 0.5 s")


async def test_what_does_not_speak_http(server: RawServer, file: str) -> None:
    place = await server.start(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    done = await run("send", file, "--url", f"http://{place}")
    assert done.code == 3
    assert done.says("is not HTTP")


async def test_a_status_without_a_body(server: RawServer, file: str) -> None:
    done = await run("send", file, "--url", f"http://{await server.start(answer(b'', status='204 No Content'))}")
    assert (done.code, done.out) == (0, b"")


async def test_a_redirect_is_named_and_not_followed(server: RawServer, file: str) -> None:
    place = await server.start(b"HTTP/1.1 307 T\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n")
    done = await run("send", file, "--url", f"http://{place}", "--no-diagnose")
    assert done.code == 1
    assert done.says("redirects to http://elsewhere/: not followed")


async def test_a_large_body(server: RawServer, file: str) -> None:
    size = 100_000_000

    async def large(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
        for _ in range(100):
            writer.write(b"x" * (size // 100))
            await writer.drain()

    done = await run("send", file, "--url", f"http://{await server.start(large)}", "--no-record")
    assert (done.code, len(done.out)) == (0, size)


async def test_json_holds_the_whole_exchange(server: RawServer, file: str) -> None:
    place = await server.start(answer(b'{"error": {"message": "no"}}', status="400 Bad Request"))
    done = await run(
        "send", file, "--url", f"http://{place}", "--json", "--no-diagnose", "-H", "X-Api-Key: sk-very-secret"
    )
    (told,) = done.lines
    assert done.code == 1
    assert told["outcome"] == "refused"
    assert told["request"]["body"]["text"] == BODY
    assert ["X-Api-Key", "{{secret:X_API_KEY}}"] in told["request"]["headers"]
    assert told["response"]["status"] == 400
    assert told["timing"]["end"] > 0
    assert b"sk-very-secret" in server.requests[0]


async def test_a_dry_run_sends_nothing_and_hides_the_key(file: str) -> None:
    done = await run("send", file, "--url", "http://h:1", "--dry-run", env={"OPENAI_API_KEY": "sk-very-secret"})
    assert done.code == 0
    shown = done.out.decode()
    assert shown.startswith("POST http://h:1/v1/completions\nHost: h:1\n")
    assert "Authorization: Bearer {{secret:OPENAI_API_KEY}}" in shown
    assert shown.endswith(BODY + "\n")
    asked = await run(
        "send", file, "--url", "http://h:1", "--dry-run", "--show-secrets", env={"OPENAI_API_KEY": "sk-very-secret"}
    )
    assert b"Bearer sk-very-secret" in asked.out


async def test_insecure_is_said_loudly(server: RawServer, file: str) -> None:
    done = await run("send", file, "--url", f"http://{await server.start(answer(b'{}'))}", "--insecure")
    assert done.code == 0
    assert done.says("WARNING: --insecure: no certificate is checked")


async def test_every_exchange_is_recorded(server: RawServer, file: str, tmp_path: Path) -> None:
    place = await server.start(answer(b'{"ok": 1}'))
    await run("send", file, "--url", f"http://{place}")
    await run("send", file, "--url", f"http://{place}", "--no-record")
    with History() as history:
        (recorded,) = history
    assert recorded.exchange.response is not None
    assert recorded.exchange.response.body == b'{"ok": 1}'


async def test_a_history_that_cannot_be_written_is_a_warning(server: RawServer, file: str, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    done = await run("send", file, "--url", f"http://{await server.start(answer(b'{}'))}")
    assert (done.code, done.out) == (0, b"{}")
    assert done.says("Nothing is recorded", "LLMDEBUG_STATE_DIR")


async def test_ctrl_c_records_what_arrived(server: RawServer, file: str) -> None:
    async def begun(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: one\n\n")
        await server.until_hung_up(reader)

    process = await start("send", file, "--url", f"http://{await server.start(begun)}")
    assert process.stdout is not None and process.stderr is not None
    assert await process.stdout.readline() == b"one\n"
    process.send_signal(signal.SIGINT)
    assert await process.wait() == 130
    assert b"Traceback" not in await process.stderr.read()
    await asyncio.wait_for(server.hung_up.wait(), 10)
    with History() as history:
        (recorded,) = history
    assert recorded.exchange.failure is not None
    assert recorded.exchange.failure.kind == "cancelled"
    assert recorded.exchange.response is not None
    assert recorded.exchange.response.body == b"data: one\n\n"


async def test_a_reader_that_goes_away(server: RawServer, file: str) -> None:
    place = await server.start(answer(b"x" * 5_000_000))
    line = f'"$0" -m llmdebug send "$1" --url http://{place} | head -c 1; echo " ${{PIPESTATUS[0]}}"'
    process = await asyncio.create_subprocess_exec("bash", "-c", line, sys.executable, file, stdout=PIPE, stderr=PIPE)
    out, err = await process.communicate()
    assert out == b"x 141\n"
    assert b"Traceback" not in err and b"Broken pipe" not in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nothing.http"], ["nothing.http", "There is no such file"]),
        (["."], ["This is a folder"]),
        (["two.http"], ["two.http: It holds 2 requests", "two.http#NAME", "first, second"]),
        (["two.http#third"], ["two.http", "'third'", "first, second"]),
        (["broken.http"], ["broken.http:2:", "is no header"]),
        (["empty.http"], ["empty.http", "There is no request in it"]),
        (["latin1.http"], ["latin1.http:2", "not UTF-8"]),
        (["relative.http"], ["relative.http:1", "names no server"]),
        (["variable.http"], ["variable.http:1", "The variable base_url is not defined"]),
        (["two.http#first", "-H", "nonsense"], ["'nonsense' is no header"]),
        (["two.http#first", "--var", "nonsense"], ["'nonsense' is no variable"]),
        (["two.http#first", "--api-key-env", "UNSET_KEY"], ["UNSET_KEY is not set"]),
        (["two.http#first", "--source", "nowhere"], ["nowhere", "no such folder"]),
        (["two.http#first", "--source", "two.http"], ["two.http", "is a file"]),
        (["two.http#first", "--source", "hollow"], ["hollow", "empty folder"]),
        (["two.http#first", "--ca-file", "two.http"], ["two.http", "cannot be used"]),
        (["two.http#first", "--client-key", "two.http"], ["--client-cert"]),
        (["two.http#first", "--proxy", "ftp://h:1"], ["proxy", "cannot be used"]),
        (["two.http#first", "--timeout", "soon"], ["--timeout", "valid number"]),
        (["two.http#first", "--nonsense"], ["--nonsense"]),
        (["secret.http"], ["ANY_KEY", "environment variable"]),
    ],
)
async def test_bad_command_lines_are_one_clear_sentence(
    words: list[str], told: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.http").write_text("### first\nGET http://h/1\n### second\nGET http://h/2\n")
    (tmp_path / "broken.http").write_text("GET http://h/1\nno header\n")
    (tmp_path / "empty.http").write_text("# nothing\n")
    (tmp_path / "latin1.http").write_bytes(b"GET http://h/1\nX: \xe9\n")
    (tmp_path / "relative.http").write_text("GET /v1/models\n")
    (tmp_path / "variable.http").write_text("GET {{base_url}}/v1/models\n")
    (tmp_path / "secret.http").write_text("GET http://h/\nAuthorization: Bearer {{secret:ANY_KEY}}\n")
    (tmp_path / "hollow").mkdir()
    done = await run("send", *words)
    assert done.code == 2, done.err
    assert done.says(*told), done.err


async def test_a_url_that_leads_nowhere(file: str) -> None:
    done = await run("send", file, "--url", "ftp://h")
    assert done.code == 2
    assert done.says("no http:// or https:// address")


async def test_without_a_home_folder(server: RawServer, file: str) -> None:
    place = await server.start(answer(b"{}"))
    gone = {"HOME": "/nonexistent", "LLMDEBUG_STATE_DIR": "", "LLMDEBUG_CACHE_DIR": "", "XDG_STATE_HOME": ""}
    done = await run("send", file, "--url", f"http://{place}", env=gone)
    assert (done.code, done.out) == (0, b"{}")
    if os.getuid() != 0:
        assert done.says("Nothing is recorded")


async def test_what_the_server_logs_about_the_request_is_read(server: RawServer, file: str, tmp_path: Path) -> None:
    """Only what is written after the request went out."""
    log = tmp_path / "server.log"
    trace = 'Traceback (most recent call last):\n  File "/srv/shop/api.py", line 2, in draw\n    x\n'
    log.write_text(trace + "OSError: of yesterday\n")

    async def crash(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"Internal Server Error", status="500 Internal Server Error"))
        await writer.drain()
        with log.open("a") as written:
            written.write(trace + "KeyError: 'mauve'\n")

    done = await run("send", file, "--url", f"http://{await server.start(crash)}", "--log", str(log), "--json")
    (told,) = done.lines
    assert done.code == 1
    assert any("KeyError: 'mauve'" in note for note in told["diagnosis"]["notes"])
    assert not any("yesterday" in note for note in told["diagnosis"]["notes"])


async def test_a_request_that_builds_on_another_answer_is_not_sent_alone(server: RawServer, tmp_path: Path) -> None:
    file = tmp_path / "flow.http"
    file.write_text("### a\nGET {{base_url}}/a\n\n### b\nGET {{base_url}}/{{a.response.body.$.id}}\n")
    done = await run("send", f"{file}#b", "--url", f"http://{await server.start(answer(b'{}'))}")
    assert (done.code, server.requests) == (2, [])
    assert done.says("The request needs the answer of a: `llmdebug replay", "sends that first")


FORMS_OF_A_KEY = {
    "a.http": "GET https://other.example/v1/models?api_key=sk-aaaaaaaa1\nAuthorization: Bearer sk-aaaaaaaa2\nX-A: 1\n",
    "b.http": "@base_url = https://other.example\nGET {{base_url}}/v1/models\nCookie: sid=sk-aaaaaaaa1\nX-A: 1\n",
    "c.sh": "curl https://other.example/v1/models -H 'X-Api-Key: sk-aaaaaaaa1' -H 'X-A: 1' -u me:sk-aaaaaaaa2\n",
    "d.sh": "curl https://other.example/v1/models -H \"Authorization: Bearer $OTHER_API_KEY\" -H 'X-A: 1'\n",
}


@pytest.mark.parametrize(
    ("command", "name"), [*(("send", name) for name in FORMS_OF_A_KEY), ("try", "b.http"), ("replay", "b.http")]
)
async def test_keys_that_a_file_wrote_for_another_host_stay_behind(
    server: RawServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str
) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "sk-aaaaaaaa1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-aaaaaaaa3")
    (tmp_path / name).write_text(FORMS_OF_A_KEY[name])
    async with RawServer() as other:
        places = [await server.start(answer(b"{}")), await other.start(answer(b"{}"))]
        words = [command, str(tmp_path / name), "--url"]
        kept, sent = await asyncio.gather(
            run(*words, f"http://{places[0]}"), run(*words, f"http://{places[1]}", "--send-secrets")
        )
        assert not any(b"sk-aaaaaaaa" in one for one in server.requests), "nor is another put in its place unasked"
        assert b"X-A: 1" in server.requests[0]
        assert b"sk-aaaaaaaa1" in other.requests[0]
    assert kept.says("Keys are not sent to another host than the one they were written for", "--send-secrets")
    assert not sent.says("Keys are not sent")


async def test_a_file_that_names_no_server_sends_its_keys_where_it_is_told(server: RawServer, tmp_path: Path) -> None:
    (tmp_path / "a.http").write_text("GET {{base_url}}/v1/models\nAuthorization: Bearer sk-aaaaaaaa1\n")
    await run("send", str(tmp_path / "a.http"), "--url", f"http://{await server.start(answer(b'{}'))}")
    assert b"sk-aaaaaaaa1" in server.requests[0]
