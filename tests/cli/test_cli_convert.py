from __future__ import annotations

import asyncio
import json
import stat
from itertools import pairwise
from pathlib import Path

from running import run

from llmdebug.formats.har import each_entry, read_document
from llmdebug.formats.loading import open_exchanges
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.recording.history import History

KEY = "sk-0123456789abcdef"
SCRIPT = f"""# two requests
curl http://h.test/v1/models -H 'Authorization: Bearer {KEY}'
curl http://h.test/v1/completions -H 'Content-Type: application/json' -d '{{"model": "alice", "prompt": "x"}}' | jq .
"""


async def test_a_file_goes_through_all_formats(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text(SCRIPT)
    steps = ["a.sh", "b.har", "c.jsonl", "d.http", "e.curl"]
    for before, after in pairwise(steps):
        done = await run("convert", str(tmp_path / before), str(tmp_path / after), "--with-secrets")
        assert (done.code, done.says("2 of 2 written")) == (0, True)
        assert stat.S_IMODE((tmp_path / after).stat().st_mode) == 0o600
    first, last = (open_exchanges(str(tmp_path / name)) for name in ("a.sh", "e.curl"))
    assert [last.exchange(number) for number in (0, 1)] == [first.exchange(number) for number in (0, 1)]


async def test_secrets_stay_out_and_one_request_can_be_picked(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text(SCRIPT)
    one, other, script = await asyncio.gather(
        run("convert", str(tmp_path / "a.sh"), "-", "--to", "har"),
        run("convert", f"{tmp_path / 'a.sh'}#2", "-", "--to", "batch"),
        run("convert", str(tmp_path / "a.sh"), "-", "--to", "openai", "--only", "method == GET"),
    )
    assert KEY.encode() not in one.out
    assert len(list(each_entry(read_document(one.out, ""), ""))) == 2
    assert [line["body"] for line in other.lines] == [{"model": "alice", "prompt": "x"}]
    assert b'api_key=os.environ["AUTHORIZATION"]' in script.out
    assert script.says("1 of 2 written as openai")


async def test_a_condition_that_takes_too_long_writes_nothing(tmp_path: Path) -> None:
    with History(file=tmp_path / "r.jsonl") as history:
        request = Request(method="GET", url="http://h.test/")
        history.record(Exchange(request=request, response=Response(status=200, body=b"a" * 40 + b"b")))
    done = await run("convert", str(tmp_path / "r.jsonl"), "-", "--to", "http", "--only", 'body ~ "(a|a)*c|b$"')
    assert (done.code, done.out) == (2, b"")
    assert done.says("took too long at step 1: write it without nested repeats.")


async def test_requests_that_need_earlier_answers_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.http").write_text(
        "# @name login\nGET http://h.test/a\n\n###\nPOST http://h.test/b\nContent-Type: application/json\n\n"
        '{"id": "{{login.response.body.$.id}}", "t": "{{login.response.headers.X-T}}"}\n'
    )
    kinds = ("curl", "har", "httpx", "openai", "batch", "http", "jsonl")
    done = await asyncio.gather(
        *(
            run(
                "convert", f"{tmp_path / 'a.http'}{'#2' if kind == 'batch' else ''}", str(tmp_path / kind), "--to", kind
            )
            for kind in kinds
        )
    )
    assert [one.code for one in done] == [0] * len(kinds)
    told = "Not filled in: 1 of the requests (2) need earlier answers, as {{login.response.body.$.id}}."
    assert [one.says(told) for one in done] == [kind not in ("http", "jsonl") for kind in kinds]
    for script in ("curl", "httpx", "openai"):
        written = (tmp_path / script).read_text()
        assert "# Fill in what an earlier answer gives: {{login.response.headers.X-T}}\n" in written


async def test_batch_and_answers_and_what_is_left_out(tmp_path: Path) -> None:
    request = {"custom_id": "a", "method": "POST", "url": "/v1/completions", "body": {"model": "alice"}}
    answer = {"custom_id": "a", "response": {"status_code": 400, "body": {"error": "no"}}}
    (tmp_path / "in.jsonl").write_text(json.dumps(request) + "\n")
    (tmp_path / "out.jsonl").write_text(json.dumps(answer) + "\n")
    words = ("convert", str(tmp_path / "in.jsonl"), "--answers", str(tmp_path / "out.jsonl"))
    har, curl, batch = await asyncio.gather(
        run(*words, str(tmp_path / "x.har")),
        run(*words, "-", "--to", "curl"),
        run(*words, str(tmp_path / "y.jsonl"), "--to", "batch"),
    )
    assert (har.code, curl.code, batch.code) == (0, 0, 0)
    assert open_exchanges(str(tmp_path / "x.har")).row(0).status == 400
    assert curl.says("Left out: 1 answers")
    assert json.loads((tmp_path / "y-answers.jsonl").read_text())["response"]["status_code"] == 400


async def test_what_cannot_be_done_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text(SCRIPT)
    (tmp_path / "there.har").write_text("mine")
    source = str(tmp_path / "a.sh")
    there, unknown, lost, nobody = await asyncio.gather(
        run("convert", source, str(tmp_path / "there.har")),
        run("convert", source, str(tmp_path / "x.zip")),
        run("convert", source, str(tmp_path / "b.jsonl"), "--to", "batch"),
        run("convert", source + "#9", "-", "--to", "har"),
    )
    assert [done.code for done in (there, unknown, lost, nobody)] == [2, 2, 2, 2]
    assert there.says("is there already")
    assert (tmp_path / "there.har").read_text() == "mine"
    assert unknown.says("give --to")
    assert lost.says("entry 1: The request is no POST")
    assert not (tmp_path / "b.jsonl").exists()
    assert nobody.says("There is no request '9'")


async def test_what_a_batch_cannot_hold_is_told_with_its_file_and_how_to_leave_it_out(tmp_path: Path) -> None:
    (tmp_path / "a.sh").write_text(f"curl http://h.test/$(x)\n{SCRIPT}")
    done = await run("convert", str(tmp_path / "a.sh"), str(tmp_path / "b.jsonl"), "--to", "batch")
    assert done.code == 2
    assert done.says(f"{tmp_path / 'a.sh'}, entry 2: The request is no POST")
    assert done.says("--only 'method == POST'")
