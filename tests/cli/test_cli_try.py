"""Remedies from end to end: the demo's server, its source, the pipeline and the network, all real."""

from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from raw_server import RawServer
from running import run

from llmdebug.debugger.session import NOTE
from llmdebug.demo.server import REQUESTS, DemoServer
from llmdebug.recording.history import History

FOUNDING = f"{REQUESTS}#prompt-token-ids"


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    async with RawServer() as server:
        yield server


def words(nanoserve: DemoServer, reference: str = FOUNDING) -> list[str]:
    return [reference, "--base-url", nanoserve.base_url, "--source", str(nanoserve.source)]


async def test_a_redirect_to_the_same_server_is_confirmed_there(tmp_path: Path) -> None:
    class Moved(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200 if self.path == "/v1/x" else 307)
            self.send_header("Location", "/v1/x")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Moved) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        file = tmp_path / "moved.http"
        url = f"http://127.0.0.1:{server.server_port}/v1/x/"
        file.write_text(f'POST {url}\nContent-Type: application/json\n\n{{"n": 1}}\n')
        done = await run("try", str(file))
        server.shutdown()
    assert done.code == 0, done.err
    out = done.out.decode()
    assert "is redirected to /v1/x; no redirect is followed" in out and "confirmed: remedy 1 was sent: 200" in out


async def test_send_tells_the_diagnosis_beside_the_answer(nanoserve: DemoServer) -> None:
    done = await run("send", *words(nanoserve))
    assert done.code == 1
    assert json.loads(done.out)["error"]["param"] == "prompt"
    assert done.says("400 Bad Request", "protocol.py:", "declares CompletionRequest.prompt", "▶     prompt: str")


async def test_the_source_is_remembered_for_the_server(nanoserve: DemoServer) -> None:
    await run("send", *words(nanoserve))
    done = await run("send", FOUNDING, "--base-url", nanoserve.base_url, "--json")
    (told,) = done.lines
    assert told["diagnosis"]["sites"][0]["file"] == "protocol.py"
    elsewhere = await run(
        "send", FOUNDING, "--base-url", nanoserve.base_url.replace("127.0.0.1", "localhost"), "--json"
    )
    assert elsewhere.lines[0]["diagnosis"]["sites"] == []


async def test_a_remedy_is_confirmed(nanoserve: DemoServer) -> None:
    done = await run("try", *words(nanoserve))
    shown = done.out.decode()
    assert done.code == 0, done.err
    assert "Remedy 1:" in shown
    assert "confirmed: remedy 1 was sent: 200" in shown
    with History() as history:
        refused, answered = history
    assert refused.notes[NOTE]["trail"][-1]["text"].startswith("confirmed")
    assert answered.exchange.response is not None
    assert answered.exchange.response.status == 200


async def test_a_trial_as_json(nanoserve: DemoServer) -> None:
    done = await run("try", *words(nanoserve), "--json")
    (told,) = done.lines
    assert done.code == 0
    assert told["verdict"] == "confirmed"
    assert told["refused"]["diagnosis"]["kind"] == "missing_field"
    assert [sent["outcome"] for sent in told["sent"]] == ["answered"]


async def test_there_is_no_such_remedy(nanoserve: DemoServer) -> None:
    done = await run("try", *words(nanoserve), "--remedy", "99", "--json")
    assert done.code == 4
    assert done.says("There is no remedy 99")
    assert done.lines[0]["verdict"] is None


async def test_nothing_to_try(nanoserve: DemoServer, server: RawServer) -> None:
    answered = await run("try", *words(nanoserve, f"{REQUESTS}#prompt-as-ids"), "--json")
    assert answered.code == 0
    assert answered.lines[0]["verdict"] is None
    assert answered.says("was not refused")
    silent = await run("try", FOUNDING, "--url", f"http://{await server.start(b'')}")
    assert silent.code == 3
    assert silent.says("closed the connection without an answer", "Nothing was tried")


async def test_a_remedy_that_is_refused_too(nanoserve: DemoServer, server: RawServer) -> None:
    """A server that always refuses in the words of the demo's."""
    status, refusal = _post(nanoserve.base_url + "/v1/completions", {"model": "alice"})
    assert status == 400
    head = f"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {len(refusal)}\r\n\r\n"
    place = await server.start(head.encode() + refusal)
    done = await run("try", FOUNDING, "--url", f"http://{place}", "--source", str(nanoserve.source))
    assert done.code == 1
    assert "refuted: remedy 1 was sent: 400" in done.out.decode()
    assert sum(request.startswith(b"POST /v1/completions ") for request in server.requests) == 2


async def test_another_refusal_settles_the_first(nanoserve: DemoServer, tmp_path: Path) -> None:
    file = tmp_path / "r.http"
    body = '{"model": "bob", "prompt": "x", "max_tokens": 400}'
    file.write_text(f"POST {nanoserve.base_url}/v1/completions\nContent-Type: application/json\n\n{body}")
    told = ["try", str(file), "--source", str(nanoserve.source)]
    done = await run(*told)
    text = done.out.decode()
    assert done.code == 1
    assert (
        "settled: remedy 1 was sent: 400, no longer refused for model not found; next it refuses: /prompt does" in text
    )
    assert "refuted" not in text
    assert text.index("kind: model_not_found") < text.index("kind: context_length")
    (line,) = (await run(*told, "--json")).lines
    assert line["verdict"] == "settled"
    assert line["sent"][-1]["diagnosis"]["kind"] == "context_length"
    assert line["refused"]["diagnosis"]["trail"][-1]["text"].startswith("settled: with remedy 1 no longer refused for")


@pytest.mark.parametrize("body", ['{"prompt": "x"}', ""])
async def test_a_remedy_gives_a_model_that_the_server_lists(nanoserve: DemoServer, tmp_path: Path, body: str) -> None:
    file = tmp_path / "r.http"
    file.write_text(f"POST {nanoserve.base_url}/v1/completions\nContent-Type: application/json\n\n{body}")
    done = await run("try", str(file), "--source", str(nanoserve.source), "--json")
    assert (done.code, done.lines[0]["verdict"]) == (0, "confirmed")
    assert done.lines[0]["refused"]["diagnosis"]["remedies"][0]["requests"][0]["body"]["model"] == "alice"


OUTSIDE = '{"model": "alice", "prompt_token_ids": [361, 99999, 603], "max_tokens": 4}'


async def test_remedies_with_ids_without_a_token_are_held_back(nanoserve: DemoServer, tmp_path: Path) -> None:
    file = tmp_path / "r.http"
    file.write_text(f"POST {nanoserve.base_url}/v1/completions\nContent-Type: application/json\n\n{OUTSIDE}")
    told = ["try", str(file), "--source", str(nanoserve.source), "--json"]
    first = await run(*told)
    remedies = first.lines[0]["refused"]["diagnosis"]["remedies"]
    risky = [n for n, remedy in enumerate(remedies, start=1) if "99999" in json.dumps(remedy["requests"])]
    assert first.code == 0 and first.lines[0]["verdict"] == "confirmed"
    assert risky and risky[0] > 1 and risky[-1] == len(remedies)
    assert all(
        ("sends ids out of the vocabulary (99999)" in r["why"]) == (n in risky) for n, r in enumerate(remedies, 1)
    )
    assert remedies[0]["requests"][0]["body"]["prompt"] == [361, 603]
    every = await run(*told, "--all")
    assert not {line["remedy"] for line in every.lines} & set(risky)
    assert every.says(f"Remedy {risky[0]} is not sent: ", "99999 at position 1")
    held = await run(*told, "--remedy", str(risky[0]))
    assert held.code == 4 and held.lines[0]["verdict"] is None
    asked = await run(*told, "--remedy", str(risky[0]), "--bad-ids")
    assert asked.lines[0]["verdict"] == "settled"


async def test_from_outside_with_other_tools(nanoserve: DemoServer, tmp_path: Path) -> None:
    """Another client sends, llmdebug reads the refusal's bare text, the other client sends the remedy."""
    url = nanoserve.base_url + "/v1/completions"
    status, refusal = _post(url, {"model": "alice", "prompt_token_ids": [361, 836, 603]})
    file = tmp_path / "r.http"
    file.write_text(f'POST {url}\nContent-Type: application/json\n\n{{"model": "alice", "prompt_token_ids": [361]}}')
    line = ["diagnose", "-", "--request", str(file), "--source", str(nanoserve.source), "--json"]
    (told,) = (await run(*line, stdin=refusal)).lines
    assert (status, told["kind"], told["ignored"]) == (400, "missing_field", ["/prompt_token_ids"])
    answers = []
    for remedy in told["remedies"][:2]:
        (request,) = remedy["requests"]
        answers.append(_post(request["url"], request["body"])[0])
    assert answers == [200, 200]


async def test_a_key_goes_with_the_remedy_and_nowhere_else() -> None:
    with DemoServer(api_key="sk-very-secret") as server:
        key = {"OPENAI_API_KEY": "sk-very-secret"}
        done = await run("try", *words(server), env=key)
        assert done.code == 0, done.err
        assert b"sk-very-secret" not in done.out
        assert "sk-very-secret" not in done.err
        with History() as history:
            assert "sk-very-secret" not in history.path.read_text()
        without = await run("try", *words(server))
        assert without.code in (1, 4)
        assert re.search(r"kind: auth", without.out.decode())


def _post(url: str, body: Any) -> tuple[int, bytes]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


async def test_all_remedies(nanoserve: DemoServer) -> None:
    done = await run("try", *words(nanoserve), "--all", "--json")
    assert done.code == 0, done.err
    assert [told["remedy"] for told in done.lines] == list(range(1, len(done.lines) + 1))
    assert len(done.lines) > 1
    assert done.lines[0]["verdict"] == "confirmed"
    trail = done.lines[-1]["refused"]["diagnosis"]["trail"]
    assert sum(step["text"].startswith("sent remedy") for step in trail) == len(done.lines)
    shown = await run("try", *words(nanoserve), "--all")
    assert shown.out.decode().count("confirmed: remedy ") == sum(told["verdict"] == "confirmed" for told in done.lines)
