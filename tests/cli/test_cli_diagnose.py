from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
from raw_server import RawServer
from running import run, start

from llmdebug.demo.server import REQUESTS, SOURCE, DemoServer
from llmdebug.formats.http_file import read_http_file
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.recording.history import History

MISSING = {
    "error": {
        "message": "1 validation error:\n  {'type': 'missing', 'loc': ('body', 'prompt'), 'msg': 'Field required', "
        "'input': {'model': 'alice', 'prompt_token_ids': [1]}}",
        "type": "Bad Request",
        "param": "prompt",
        "code": 400,
    }
}
PROMPT_LINE = next(
    number
    for number, line in enumerate((SOURCE / "protocol.py").read_text().splitlines(), start=1)
    if line.startswith("    prompt: str | list[str] | list[int]")
)


def entry(body: str = '{"model": "alice", "prompt_token_ids": [1]}', **changes: Any) -> dict[str, Any]:
    """A HAR entry of the founding refusal."""
    return {
        "request": {
            "method": "POST",
            "url": "http://gw/team/v1/completions",
            "headers": [{"name": "Authorization", "value": "Bearer sk-very-secret"}],
            "postData": {"mimeType": "application/json", "text": body},
        },
        "response": {"status": 400, "content": {"mimeType": "application/json", "text": json.dumps(MISSING)}},
        **changes,
    }


def har(*entries: Any) -> bytes:
    return json.dumps({"log": {"version": "1.2", "entries": entries}}).encode()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def is_founding(told: dict[str, Any]) -> bool:
    return (
        told["schema"] == "llmdebug.diagnosis/1"
        and told["kind"] == "missing_field"
        and [field["pointer"] for field in told["fields"]] == ["/prompt"]
        and (told["sites"][0]["file"], told["sites"][0]["line"]) == ("protocol.py", PROMPT_LINE)
    )


async def test_one_json_line_for_each_entry_in_order(folder: Path) -> None:
    passed = entry(response={"status": 200, "content": {"text": '{"choices": []}'}})
    (folder / "t.har").write_bytes(har(entry(), {"request": {}}, 7, passed, entry()))
    done = await run("diagnose", "t.har", "--source", str(SOURCE), "--json")
    first, broken, number, answered, last = done.lines
    assert done.code == 2
    assert is_founding(first) and is_founding(last)
    assert "cannot be read" in broken["summary"] and broken["sites"] == []
    assert "cannot be read" in number["summary"]
    assert (answered["kind"], answered["ignored"]) == ("ignored_field", ["/prompt_token_ids"])
    assert done.says("t.har, entry 2: The entry's request has no URL", "t.har, entry 3:")


async def test_typer_reads_the_same_line(folder: Path) -> None:
    (folder / "t.har").write_bytes(har(entry()))
    plain = await run("diagnose", "t.har", "--source", str(SOURCE), "--json")
    by_typer = await run("diagnose", "--json", "--source", str(SOURCE), "--status", "400", "t.har")
    assert plain.code == by_typer.code == 0
    for done in (plain, by_typer):
        (told,) = done.lines
        assert is_founding(told)


async def test_several_files_and_stdin(folder: Path) -> None:
    (folder / "a.har").write_bytes(har(entry(), entry()))
    done = await run("diagnose", "a.har", "-", "--json", f"--source={SOURCE}", stdin=har(entry()))
    assert done.code == 0
    assert [is_founding(told) for told in done.lines] == [True] * 3


async def test_no_secret_is_printed(folder: Path) -> None:
    (folder / "t.har").write_bytes(har(entry()))
    for words in (["--json"], []):
        done = await run("diagnose", "t.har", "--source", str(SOURCE), *words)
        assert done.code == 0
        assert b"sk-very-secret" not in done.out


async def test_the_report_for_people(folder: Path) -> None:
    (folder / "t.har").write_bytes(har(entry()))
    done = await run("diagnose", "t.har", "--source", str(SOURCE))
    shown = done.out.decode()
    assert done.code == 0
    assert "POST http://gw/team/v1/completions → 400" in shown
    assert "kind: missing_field" in shown
    assert re.search(r"blamed +/prompt: missing", shown)
    assert f"protocol.py:{PROMPT_LINE} declares CompletionRequest.prompt" in shown
    assert re.search(rf"{PROMPT_LINE} ▶     prompt: str", shown)


async def test_llmdebugs_own_recording(folder: Path) -> None:
    with History() as history:
        history.record(
            Exchange(
                request=Request(method="POST", url="http://h/v1/completions", body=b'{"model": "alice"}'),
                response=Response(status=400, body=json.dumps(MISSING).encode()),
            )
        )
    done = await run("diagnose", str(history.path), "--source", str(SOURCE), "--json")
    (told,) = done.lines
    assert done.code == 0
    assert is_founding(told)


@pytest.mark.parametrize(
    "text",
    [
        f"Error code: 400 - {MISSING!r}",
        f"openai.BadRequestError: Error code: 400 - {MISSING!r}",
        f"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n\r\n{json.dumps(MISSING)}",
        json.dumps(MISSING),
    ],
)
async def test_a_pasted_refusal(text: str) -> None:
    done = await run(
        "diagnose", "-", "--request", f"{REQUESTS}#prompt-token-ids", "--url", "http://h", "--source", str(SOURCE),
        "--json", "--status", "400", stdin=text.encode(),
    )  # fmt: skip
    (told,) = done.lines
    assert done.code == 0
    assert is_founding(told)


async def test_a_response_from_outside_is_diagnosed(nanoserve: DemoServer, folder: Path) -> None:
    file = read_http_file(REQUESTS, variables={"base_url": nanoserve.base_url})
    request = file.request("prompt-token-ids")
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(request.url, content=request.body, headers=dict(request.headers))
    done = await run(
        "diagnose", "-", "--request", f"{REQUESTS}#prompt-token-ids", "--url", nanoserve.base_url,
        "--source", str(nanoserve.source), "--json", stdin=answer.content,
    )  # fmt: skip
    (told,) = done.lines
    assert is_founding(told)


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ("{", "{"),
        ("[" * 100_000, "[" * 100_000),
        ('{"a": ' * 400 + "1" + "}" * 400, '{"detail": ' * 400 + "1" + "}" * 400),
        ('{"n": NaN, "m": -Infinity}', '{"error": {"message": NaN}}'),
        ('{"n": 1' + "0" * 400 + "}", '{"detail": "x"}'),
        ("\x00\x01\x02", "\x00\x01\x02"),
        ('{"prompt": "\\ud800"}', '{"detail": "\\ud800"}'),
        ("", ""),
        ("null", "null"),
        ("x" * 500_000, "y" * 500_000),
    ],
    ids=[
        "no-json",
        "deep",
        "deeper-than-we-read",
        "nan",
        "huge-integer",
        "binary",
        "surrogate",
        "empty",
        "null",
        "large",
    ],
)
async def test_hostile_bodies_still_give_their_line(body: str, answer: str, folder: Path) -> None:
    response = {"status": 400, "content": {"text": answer}}
    (folder / "t.har").write_bytes(har(entry(body, response=response), entry()))
    done = await run("diagnose", "t.har", "--source", str(SOURCE), "--json")
    assert done.code == 0, done.err
    hostile, good = done.lines
    assert hostile["schema"] == "llmdebug.diagnosis/1"
    assert is_founding(good)
    for_people = await run("diagnose", "t.har", "--source", str(SOURCE))
    assert for_people.code == 0, for_people.err


async def test_escapes_of_a_server_do_not_reach_the_terminal(folder: Path) -> None:
    answer = {"status": 400, "content": {"text": json.dumps({"detail": "\x1b]0;gotcha\x07 [bold]no[/bold] \u202e"})}}
    (folder / "t.har").write_bytes(har(entry(response=answer)))
    done = await run("diagnose", "t.har")
    assert done.code == 0
    assert not set(done.out.decode()) & set("\x1b\x07\u202e")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nothing.har", "--json"], ["nothing.har", "There is no such file"]),
        ([".", "--json"], ["This is a folder"]),
        (["empty.har", "--json"], ["empty.har", "There is nothing in it"]),
        (["no-entries.har", "--json"], ["no-entries.har", "no list at /log/entries"]),
        (["torn.har", "--json"], ["torn.har:2", "This is no HAR file"]),
        (["torn.jsonl", "--json"], ["torn.jsonl:2", "no record"]),
        (["t.har", "--json", "--source", "nowhere"], ["nowhere", "no such folder"]),
        (["t.har", "--json", "--source", "t.har"], ["t.har is a file"]),
        (["t.har", "--json", "--source", "hollow"], ["hollow is an empty folder"]),
        (["t.har", "--source"], ["--source"]),
        (["t.har", "--status", "7"], ["--status"]),
        (["t.har", "--request", "nothing.http"], ["nothing.http", "There is no such file"]),
        ([], ["FILE"]),
    ],
)
async def test_bad_command_lines_are_one_clear_sentence(words: list[str], told: list[str], folder: Path) -> None:
    (folder / "t.har").write_bytes(har(entry()))
    (folder / "empty.har").write_bytes(b" \n")
    (folder / "no-entries.har").write_bytes(b'{"log": {}}')
    (folder / "torn.har").write_bytes(b'{"log":\n')
    record = b'{"record": "note", "id": "1", "name": "n", "at": 0, "value": 1}\n'
    (folder / "torn.jsonl").write_bytes(record + b"nonsense\n" + record)
    (folder / "hollow").mkdir()
    done = await run("diagnose", *words)
    assert (done.code, done.out) == (2, b""), done.err
    assert done.says(*told), done.err


@pytest.fixture
def rough_tree(folder: Path) -> Path:
    """The demo's source among everything that makes a tree hard to read."""
    tree = folder / "tree"
    for file in SOURCE.rglob("*.py"):
        place = tree / "server" / file.relative_to(SOURCE)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.read_bytes())
    (tree / "latin1.py").write_bytes(b'@app.post("/x")\nNAME = "caf\xe9"\n')
    (tree / "newer.py").write_text(
        "from fastapi import APIRouter\ntype X = int\nraise HTTPException(400)\nmatch x:\n case"
    )
    (tree / "null.py").write_bytes(b"HTTPException(\0)\n")
    (tree / "deep.py").write_text("HTTPException(\n" + "(" * 5000)
    (tree / "loop").symlink_to(tree)
    (tree / "dangling.py").symlink_to(tree / "nothing.py")
    (tree / "secret.py").write_text("x = 1\n")
    (tree / "closed").mkdir()
    (tree / "closed" / "inside.py").write_text("x = 1\n")
    (tree / "secret.py").chmod(0)
    (tree / "closed").chmod(0)
    return tree


async def test_a_tree_that_is_hard_to_read(rough_tree: Path, folder: Path) -> None:
    (folder / "t.har").write_bytes(har(entry()))
    done = await run("diagnose", "t.har", "--source", str(rough_tree), "--json")
    (rough_tree / "closed").chmod(0o700)
    (told,) = done.lines
    assert done.code == 0, done.err
    assert told["sites"][0]["file"] == "server/protocol.py"
    assert done.says()


@pytest.mark.parametrize("place", ["/proc/nothing", "/dev/null/cache", "{file}"])
async def test_a_cache_that_cannot_be_written(place: str, folder: Path) -> None:
    (folder / "t.har").write_bytes(har(entry()))
    cache = place.format(file=folder / "t.har")
    done = await run("diagnose", "t.har", "--source", str(SOURCE), "--json", env={"LLMDEBUG_CACHE_DIR": cache})
    (told,) = done.lines
    assert done.code == 0, done.err
    assert is_founding(told)


async def test_without_a_home_folder(folder: Path) -> None:
    (folder / "t.har").write_bytes(har(entry()))
    gone = {"HOME": "/nonexistent", "LLMDEBUG_CACHE_DIR": "", "LLMDEBUG_STATE_DIR": "", "XDG_CACHE_HOME": ""}
    done = await run("diagnose", "t.har", "--source", str(SOURCE), "--json", env=gone)
    (told,) = done.lines
    assert done.code == 0, done.err
    assert is_founding(told)


async def test_a_locale_without_the_signs(folder: Path) -> None:
    (folder / "t.har").write_bytes(har(entry()))
    done = await run("diagnose", "t.har", "--source", str(SOURCE), env={"PYTHONIOENCODING": "ascii"})
    assert done.code == 0
    assert b"? 400" in done.out


async def test_an_error_of_llmdebug_itself_names_the_way_to_report_it(folder: Path) -> None:
    (folder / "t.har").write_bytes(har(entry(), entry()))
    (folder / "sitecustomize.py").write_text(
        "import llmdebug.debugger.trees as trees\n"
        "def broken(exchange, indexes, log, **known): raise KeyError('x')\n"
        "trees.diagnose = broken\n"
    )
    broken = {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)}
    done = await run("diagnose", "t.har", "--json", env=broken)
    assert (done.code, len(done.lines)) == (70, 2)
    assert done.says("an error of llmdebug itself: KeyError")
    shown = await run("diagnose", "t.har", "--json", env={**broken, "LLMDEBUG_DEBUG": "1"})
    assert "Traceback" in shown.err


async def test_diagnosing_sends_nothing(folder: Path) -> None:
    async with RawServer() as server:
        place = await server.start(b"")
        told = entry()
        told["request"]["url"] = f"http://{place}/v1/completions"
        (folder / "t.har").write_bytes(har(told))
        done = await run("diagnose", "t.har", "--source", str(SOURCE), "--json")
        assert done.code == 0
        assert server.requests == []


async def test_ctrl_c_while_it_waits_for_stdin() -> None:
    process = await start("diagnose", "-", "--json", "--source", str(SOURCE))
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdin.write(b"x" * 200_000)
    await process.stdin.drain()
    code = None
    while code is None:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(TimeoutError):
            code = await asyncio.wait_for(process.wait(), 1)
    assert code == 130
    assert await process.stderr.read() == b"llmdebug: interrupted\n"


async def test_a_log_settles_a_bare_500(folder: Path) -> None:
    (folder / "shop").mkdir()
    (folder / "shop" / "api.py").write_text("def draw(order):\n    return TABLE[order]\n")
    (folder / "server.log").write_text(
        "INFO: started\nTraceback (most recent call last):\n"
        "  File \"/srv/shop/api.py\", line 2, in draw\n    return TABLE[order]\nKeyError: 'mauve'\n"
    )
    (folder / "answer.txt").write_text("Internal Server Error")
    words = ("diagnose", "answer.txt", "--status", "500", "--source", str(folder), "--json")
    (without,) = (await run(*words)).lines
    (told,) = (await run(*words, "--log", "server.log")).lines
    assert (without["sites"], told["sites"][0]["file"], told["sites"][0]["line"]) == ([], "shop/api.py", 2)
    assert "KeyError: 'mauve'" in told["sites"][0]["why"][0]
    missing = await run(*words, "--log", "none.log")
    assert missing.code == 2
    assert missing.says("no such log file")


async def test_a_log_that_cannot_be_of_use_is_told_of(tmp_path: Path) -> None:
    """Missing ones end it; empty, binary and huge ones do not."""
    log = tmp_path / "server.log"
    words = ("diagnose", "-", "--status", "500", "--log", str(log))
    missing = await run(*words, stdin=b"Internal Server Error")
    assert missing.code == 2 and missing.says(f"{log}: There is no such log file")
    for content, said in (
        (b"", "The log is empty"),
        (b"\0\1" * 900, "binary data"),
        (b"x\n" * 2_100_000, "200,000 bytes"),
    ):
        log.write_bytes(content)
        done = await run(*words, stdin=b"Internal Server Error")
        assert done.code == 0 and done.says(f"{log}: ", said)


async def test_what_send_found_in_no_log_is_said(nanoserve: DemoServer, tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text("started\n")
    request = f"{REQUESTS}#prompt-token-ids"
    done = await run("send", request, "--base-url", nanoserve.base_url, "--log", str(tmp_path / "server.log"))
    assert done.code == 1 and done.says("Nothing was written to the log while this was answered")
