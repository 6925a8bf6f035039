"""Each refusal that the demo's server can make is traced to the line that makes it."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import httpx
import pytest
import truth
from refusals import REFUSALS, Refusal

from llmdebug.demo.server import SOURCE
from llmdebug.diagnosis.diagnose import diagnose
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import Index, open_index
from llmdebug.source.tree import open_tree

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def index() -> Index:
    return open_index(open_tree(str(SOURCE)), keep=False)


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.name)
def test_the_first_site_is_the_line_that_refuses(refusal: Refusal, index: Index) -> None:
    true = truth.truth(truth.make_app(refusal), refusal)
    exchange = Exchange(
        request=Request(
            method=refusal.method,
            url="http://127.0.0.1:8000" + refusal.path,
            headers=tuple(refusal.all_headers.items()),
            body=refusal.content,
        ),
        response=Response(status=true.status, headers=tuple(JSON.items()), body=true.text.encode()),
    )
    told = diagnose(exchange, [index])
    if not true.sites:
        assert told.kind == "no_route"  # nobody serves the path; at most the nearest route is shown
        return
    site = told.sites[0]
    assert any(site.file == s.file and site.line <= s.line <= site.end_line for s in true.sites), (
        f"said {site.file}:{site.line}-{site.end_line} ({site.role}); true are {true.sites}: {true.text[:300]}"
    )


@contextmanager
def served() -> Iterator[tuple[str, str]]:
    """The demo's server as people start it: its base URL and its source folder, as it prints them."""
    command = [sys.executable, "-m", "llmdebug", "demo", "--serve"]
    with Popen(command, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)


async def told_of(answer: str, request_file: Path, source: str) -> dict[str, Any]:
    """What `llmdebug diagnose` prints of an answer's text alone."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "llmdebug", "diagnose", "-", "--request", str(request_file)),
        *("--source", source, "--json"),
        stdin=PIPE,
        stdout=PIPE,
    )
    out, _ = await process.communicate(answer.encode())
    assert process.returncode == 0
    told = json.loads(out)
    assert isinstance(told, dict)
    return told


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("/v1/completions", {"model": "alice", "prompt_token_ids": [372, 291, 261], "max_tokens": 4}, "/prompt"),
        ("/v1/completions", {"model": "alice", "prompt": "Alice was", "temperature": 3}, "/temperature"),
        ("/v1/chat/completions", {"model": "alice", "messages": []}, "/messages"),
    ],
)
async def test_an_answer_by_hand_leads_to_a_request_that_passes(
    path: str, body: dict[str, Any], pointer: str, tmp_path: Path
) -> None:
    with served() as (base_url, source):
        async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
            refused = await client.post(base_url + path, json=body)
            assert refused.status_code == 400
            request_file = tmp_path / "refused.http"
            request_file.write_text(
                f"POST {base_url}{path}\nContent-Type: application/json\n\n{json.dumps(body)}\n", encoding="utf-8"
            )
            told = await told_of(refused.text, request_file, source)
            assert [field["pointer"] for field in told["fields"]][:1] == [pointer]
            remedy = told["remedies"][0]["requests"][0]
            assert remedy["url"].startswith(base_url)
            passed = await client.request(
                remedy["method"], remedy["url"], headers=remedy["headers"], json=remedy["body"]
            )
            assert passed.status_code == 200, passed.text
