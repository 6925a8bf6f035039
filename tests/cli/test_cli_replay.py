from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from raw_server import RawServer
from running import run, start

from llmdebug.demo.server import DemoServer
from llmdebug.formats.har_writing import har_pieces
from llmdebug.formats.lines_index import RecordedLines
from llmdebug.formats.loading import load_exchanges
from llmdebug.formats.writing import Output, pieces
from llmdebug.http.exchange import Exchange, Request, Response, Timing

JSON = (("Content-Type", "application/json"),)
GOOD = {"model": "alice", "prompt": "Once", "max_tokens": 1}
BAD = {"model": "alice", "prompt_token_ids": [1]}
MANY = 1_000


def har(tmp_path: Path, *bodies: object) -> str:
    """A file of exchanges that were all answered with 200."""
    exchanges = [
        Exchange(
            request=Request(
                method="POST", url="http://recorded.test/v1/completions", headers=JSON, body=json.dumps(body).encode()
            ),
            response=Response(status=200, body=b"{}"),
            timing=Timing(started_at=1000.0 + number),
        )
        for number, body in enumerate(bodies)
    ]
    path = tmp_path / "recorded.har"
    path.write_bytes(b"".join(har_pieces(exchanges)))
    return str(path)


async def test_each_step_is_told_and_the_refusals_by_their_place(tmp_path: Path, nanoserve: DemoServer) -> None:
    file = har(tmp_path, GOOD, BAD, BAD)
    done = await run("replay", file, "--url", nanoserve.base_url, "--source", str(nanoserve.source))
    out = done.out.decode()
    assert done.code == 1
    assert "3 of 3 sent: 1 answered, 2 refused, 0 without an answer; 2 changed" in out
    assert "2 refused at protocol.py:" in out
    assert "steps 2, 3" in out
    assert "changed, was 200" in out


async def test_json_is_one_object_a_step_and_one_for_all(tmp_path: Path, nanoserve: DemoServer) -> None:
    file = har(tmp_path, GOOD, BAD)
    done = await run("replay", file, "--url", nanoserve.base_url, "--source", str(nanoserve.source), "--json")
    first, second, last = done.lines
    assert (first["schema"], first["step"], first["outcome"], first["changed"]) == (
        "llmdebug.step/1",
        1,
        "answered",
        False,
    )
    assert (second["status"], second["recorded_status"], second["kind"]) == (400, 200, "missing_field")
    assert last["schema"] == "llmdebug.replay/1"
    assert (last["sent"], last["refused"], last["stopped"], last["next"]) == (2, 1, "end", None)
    assert last["groups"][0]["first"] == 2


async def test_exit_codes_tell_a_breakpoint_from_a_refusal_from_no_answer(
    tmp_path: Path, nanoserve: DemoServer
) -> None:
    file, url = har(tmp_path, GOOD, BAD, GOOD), nanoserve.base_url
    lines = [
        ["--to", "1"],
        [],
        ["--until", "status >= 400"],
        ["--fail-on", "changed"],
        ["--fail-on", "latency > 1h"],
        ["--url", "http://127.0.0.1:1"],
    ]
    done = await asyncio.gather(*(run("replay", file, "--url", url, *words) for words in lines))
    assert [one.code for one in done] == [0, 1, 5, 6, 0, 3]
    stopped, gone = done[2], done[5]
    assert "step 3 is next" in stopped.out.decode()
    assert gone.out.count(b"without an answer") == 2


async def test_a_stop_inside_a_stream_is_no_missing_answer_also_when_taken_up(
    tmp_path: Path, nanoserve: DemoServer
) -> None:
    file = har(tmp_path, {**GOOD, "max_tokens": 8, "stream": True}, GOOD)
    words = ("replay", file, "--url", nanoserve.base_url, "--record", str(tmp_path / "out.jsonl"))
    stopped = await run(*words, "--until", "events >= 2")
    assert (stopped.code, b"1 of 2 sent: 1 answered, 0 refused, 0 without an answer" in stopped.out) == (5, True)
    taken_up = await run(*words, "--resume")
    assert (taken_up.code, b"2 of 2 sent: 2 answered, 0 refused, 0 without an answer" in taken_up.out) == (0, True)
    assert RecordedLines(tmp_path / "out.jsonl").row(0).failure == "stopped"


async def test_what_cannot_be_used_is_told_with_its_place(tmp_path: Path) -> None:
    file = har(tmp_path, GOOD)
    done = await run("replay", file, "--until", "status >= soon")
    assert (done.code, done.says("column 11", "expected a number")) == (2, True)
    done = await run("replay", file, "--from", "9")
    assert (done.code, done.says("holds 1 requests: there is no step 9")) == (2, True)
    done = await run("replay", file, "--from", "3", "--to", "2")
    assert (done.code, done.says("--to 2 lies before --from 3")) == (2, True)
    done = await run("replay", file, "--record", str(tmp_path / "no" / "folder"))
    assert (done.code, done.says("Nothing is recorded", "no/folder")) == (2, True)
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    assert (await run("replay", str(empty))).code == 2


async def test_more_than_100_requests_need_consent(tmp_path: Path, nanoserve: DemoServer) -> None:
    file = har(tmp_path, *[GOOD] * 101)
    done = await run("replay", file, "--url", nanoserve.base_url)
    assert done.code == 2
    assert done.says("101 requests would be sent to 127.0.0.1", "--yes")


async def test_requests_of_an_http_file_take_values_of_earlier_answers(tmp_path: Path, nanoserve: DemoServer) -> None:
    file = tmp_path / "flow.http"
    file.write_text(
        "### first\nPOST {{base_url}}/v1/completions\nContent-Type: application/json\n\n" + json.dumps(GOOD) + "\n\n"
        "### second\nPOST {{base_url}}/v1/completions\nContent-Type: application/json\n"
        "X-Of: {{first.response.headers.content-type}}\n\n"
        '{"model": "alice", "max_tokens": 1, "prompt": "{{first.response.body.$.choices[0].text}}"}\n'
    )
    out = tmp_path / "out.jsonl"
    done = await run("replay", str(file), "--url", nanoserve.base_url, "--record", str(out))
    assert done.code == 0
    first, second = load_exchanges(out)
    assert first.response is not None
    assert json.loads(second.request.body)["prompt"] == json.loads(first.response.body)["choices"][0]["text"]
    assert ("X-Of", "application/json") in second.request.headers


async def test_ctrl_c_ends_it_in_order(tmp_path: Path, nanoserve: DemoServer) -> None:
    file, out = har(tmp_path, *[GOOD] * 500), tmp_path / "out.jsonl"
    process = await start("replay", file, "--url", nanoserve.base_url, "--yes", "--record", str(out))
    assert process.stdout is not None
    for _ in range(5):
        await process.stdout.readline()
    process.send_signal(signal.SIGINT)
    told, _ = await process.communicate()
    assert process.returncode == 130
    recorded = RecordedLines(out)
    answered = sum(recorded.row(number).status is not None for number in range(len(recorded)))
    assert f"Interrupted. What was answered is kept; --resume goes on with step {answered + 1}." in told.decode()


async def test_1000_exchanges_are_killed_in_the_middle_and_taken_up(tmp_path: Path, nanoserve: DemoServer) -> None:
    bodies: list[Any] = [GOOD if number % 10 == 0 else BAD for number in range(MANY)]
    file, out = har(tmp_path, *bodies), tmp_path / "out.jsonl"
    words = ("replay", file, "--url", nanoserve.base_url, "--yes", "--json", "--record", str(out))
    process = await start(*words)
    assert process.stdout is not None
    told = [json.loads(await process.stdout.readline()) for _ in range(300)]
    process.kill()
    await process.communicate()
    recorded = RecordedLines(out)
    answered = [number for number in range(len(recorded)) if recorded.answered(number)]
    assert len(answered) >= len(told)
    assert {line["id"] for line in told} <= {recorded.ids[number] for number in answered}
    done = await run(*words, "--resume")
    assert done.says(f"{len(answered):,} of 1,000 were answered; going on with step {len(answered) + 1:,}.")
    *steps, last = done.lines
    assert [line["step"] for line in steps] == list(range(len(answered) + 1, MANY + 1))
    assert (last["sent"], last["refused"], last["stopped"]) == (MANY, MANY * 9 // 10, "end")
    assert done.code == 1
    whole = RecordedLines(out)
    assert [whole.answered(number) for number in range(len(whole))] == [True] * MANY, "each step once"


async def test_secrets_of_a_recording_do_not_reach_another_host(tmp_path: Path) -> None:
    request = Request(
        method="POST",
        url="https://other.example/x?api_key=sk-secret99",
        headers=JSON,
        body=b'{"api_key":"sk-body77","n":1}',
    )
    file = tmp_path / "leak.har"
    file.write_bytes(b"".join(har_pieces([Exchange(request=request)] * 2)))
    async with RawServer() as server:
        place = await server.start(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        done = await run("replay", str(file), "--url", f"http://{place}")
        assert [b"sk-" in one for one in server.requests] == [False, False]
        assert server.requests[0].endswith(b'{"n":1}')
        await run("replay", str(file), "--url", f"http://{place}", "--send-secrets")
        assert server.requests[2].startswith(b"POST /x?api_key=sk-secret99")
    assert done.code == 0
    assert done.err.count("Keys are not sent to another host than the one they were written for: api_key left") == 1


async def test_what_another_host_answered_when_recorded_is_not_told_to_this_one(tmp_path: Path) -> None:
    login = Exchange(
        request=Request(method="POST", url="https://other.example/login", name="login"),
        response=Response(status=200, headers=JSON, body=b'{"token": "t-secret99"}'),
    )
    use = Exchange(
        request=Request(
            method="GET",
            url="https://other.example/use",
            headers=(("X-Of", "{{login.response.body.$.token}}"),),
        )
    )
    file = tmp_path / "flow.har"
    file.write_bytes(b"".join(har_pieces([login, use])))
    async with RawServer() as server:
        place = await server.start(b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"token": 7}')
        words = ("replay", str(file), "--url", f"http://{place}")
        done = await run(*words, "--from", "2")
        assert (done.code, server.requests) == (3, [])
        assert "login was answered by other.example when it was recorded" in done.out.decode()
        await run(*words, "--from", "2", "--send-secrets")
        assert b"X-Of: t-secret99" in server.requests[0]
        await run(*words)
        assert b"X-Of: 7" in server.requests[2]


async def test_keys_of_the_command_line_go_to_one_host_of_a_recording(tmp_path: Path) -> None:
    async with RawServer() as server, RawServer() as other:
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
        places = [await server.start(answer), await other.start(answer)]
        file = tmp_path / "two.har"
        requests = [Request(method="GET", url=f"http://{place}/x") for place in places]
        file.write_bytes(b"".join(har_pieces([Exchange(request=request) for request in requests])))
        words = ("replay", str(file), "-H", "Authorization: Bearer sk-mine12345", "-H", "X-Trace: 1")
        done = await run(*words)
        assert b"sk-mine12345" in server.requests[0]
        assert b"sk-mine12345" not in other.requests[0]
        assert b"X-Trace: 1" in other.requests[0]
        assert done.says(f"The key for {places[0]} is not sent to {places[1]}")
        await run(*words, "--send-secrets")
        assert b"sk-mine12345" in other.requests[1]


async def test_a_key_of_the_url_is_not_told(tmp_path: Path) -> None:
    async with RawServer() as server:
        place = await server.start(b"HTTP/1.1 400 Bad\r\nContent-Length: 16\r\n\r\nbad: sk-secret99")
        request = Request(method="GET", url=f"http://{place}/x?api_key=sk-secret99")
        file = tmp_path / "own.har"
        file.write_bytes(b"".join(har_pieces([Exchange(request=request)])))
        done = await run("replay", str(file))
        assert b"api_key=sk-secret99" in server.requests[0]
    assert "sk-secret99" not in done.out.decode() + done.err
    assert b"{{secret:API_KEY}}" in done.out


async def test_record_leaves_alone_what_is_no_recording_and_what_is_replayed(
    tmp_path: Path, nanoserve: DemoServer
) -> None:
    file, out = har(tmp_path, GOOD), tmp_path / "out.jsonl"
    words = ("--url", nanoserve.base_url, "--record")
    for name, text in (("mine.http", "GET http://h/\n"), ("batch.jsonl", '{"custom_id": "1"}\n'), ("blank", "\n\nx")):
        mine = tmp_path / name
        mine.write_text(text)
        done = await run("replay", file, *words, str(mine))
        assert (done.code, done.says(name, "is no recording of llmdebug", "name a new file")) == (2, True)
        assert mine.read_text() == text
    out.touch()
    assert (await run("replay", file, *words, str(out))).code == 0
    assert (await run("replay", file, *words, str(out))).code == 0
    assert len(load_exchanges(out)) == 2
    (tmp_path / "link.jsonl").symlink_to(out)
    for same in (out, tmp_path / "link.jsonl"):
        done = await run("replay", str(out), *words, str(same))
        assert (done.code, done.says("is the file that is replayed")) == (2, True)
    assert len(load_exchanges(out)) == 2


@pytest.mark.parametrize("out", ["/dev/full", "/dev/null", "fifo", "folder"])
async def test_record_takes_only_a_file_that_keeps_something(tmp_path: Path, out: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    async with RawServer() as server:
        place = await server.start(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        done = await run("replay", har(tmp_path, GOOD), "--url", f"http://{place}", "--record", str(tmp_path / out))
        assert (done.code, done.out, server.requests) == (2, b"", [])
    assert done.says(f"--record {tmp_path / out} is no file that keeps anything")


async def test_a_recording_that_cannot_grow_stops_the_replay(tmp_path: Path, nanoserve: DemoServer) -> None:
    file, out = har(tmp_path, *[{**GOOD, "user": "x" * 5_000}] * 9), tmp_path / "out.jsonl"
    limited = ("sh", "-c", 'ulimit -f 32; exec "$@"', "sh", sys.executable, "-B", "-m", "llmdebug", "replay", file)
    process = await asyncio.create_subprocess_exec(
        *limited,
        *("--url", nanoserve.base_url, "--record", str(out)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, told = await process.communicate()
    kept = RecordedLines(out)
    stopped = len(kept)
    assert (process.returncode, kept.warnings) == (2, ())
    assert 0 < stopped < 9
    assert f"Step {stopped + 1}: it cannot be recorded and is not sent: {out} cannot be used: " in told.decode()
    assert "Name another file." in told.decode()
    assert "LLMDEBUG_STATE_DIR" not in told.decode()
    assert f"{stopped} of 9 sent: {stopped} answered" in printed.decode()


@pytest.mark.parametrize("url", ["foo", "", "localhost:8000", "ftp://h", "http://", "http://h:99999", "http://[::1"])
async def test_an_address_that_is_none_is_refused_before_anything_is_sent(tmp_path: Path, url: str) -> None:
    out = tmp_path / "out.jsonl"
    done = await run("replay", har(tmp_path, GOOD), "--url", url, "--record", str(out))
    assert (done.code, done.out, done.says("--url: ")) == (2, b"", True)
    assert not out.exists()
    if "//" not in url:
        assert done.says(f"{url!r} is no http:// or https:// address: give the whole URL.")


@pytest.mark.parametrize("kind", ["har", "jsonl", "http"])
async def test_a_file_may_come_through_a_pipe(tmp_path: Path, nanoserve: DemoServer, kind: Output) -> None:
    request = Request(method="GET", url=f"{nanoserve.base_url}/v1/models")
    data = b"".join(pieces([Exchange(request=request)] * 2, kind))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = asyncio.create_task(asyncio.to_thread(pipe.write_bytes, data))
    piped, fifo = await asyncio.gather(run("replay", "-", stdin=data), run("replay", str(pipe)))
    await writing
    for done in (piped, fifo):
        assert (done.code, b"2 of 2 sent: 2 answered" in done.out) == (0, True)


async def test_what_comes_through_a_pipe_is_searched_and_told_as_a_file() -> None:
    exchange = Exchange(request=Request(method="GET", url="http://h/"), response=Response(status=200, body=b"needle"))
    found, foreign, device = await asyncio.gather(
        run(
            "convert", "-", "-", "--to", "curl", "--only", "body ~ needle", stdin=b"".join(pieces([exchange], "jsonl"))
        ),
        run("replay", "-", stdin=b"null"),
        run("replay", "/dev/zero"),
    )
    assert found.says("1 of 1 written")
    assert (foreign.code, foreign.says("-: This is none of the files", "the JSON value null")) == (2, True)
    assert (device.code, device.says("/dev/zero: This is a device, not a file.")) == (2, True)


async def test_an_entry_that_cannot_be_sent_is_named_and_the_others_are_sent(tmp_path: Path) -> None:
    async with RawServer() as server:
        place = await server.start(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        good = {"request": {"method": "GET", "url": f"http://{place}/x"}}
        bad = {"request": {"method": "P ST", "url": f"http://{place}/x"}}
        file = tmp_path / "mixed.har"
        file.write_text(json.dumps({"log": {"entries": [{"request": {}}, good, bad]}}))
        done, lines = await run("replay", str(file)), await run("replay", str(file), "--json")
        assert len(server.requests) == 2
    out = done.out.decode()
    assert (done.code, lines.code) == (2, 2)
    assert "entry 1: The entry's request has no URL." in out
    assert "entry 3: The method 'P ST' is no HTTP method." in out
    assert "1 of 3 sent: 1 answered, 0 refused, 0 without an answer, 2 skipped; 1 changed" in out
    assert [line.get("outcome") for line in lines.lines] == ["skipped", "answered", "skipped", None]
    assert lines.lines[-1]["skipped"] == 2
