"""Forms of curl commands that people write, held against the request that the real curl sends."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest
from raw_server import RawServer

from llmdebug.formats.curl import curl_command, parse_curls
from llmdebug.http.exchange import Headers, Request, header
from llmdebug.http.secrets import fill
from llmdebug.http.wire import prepare

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")

KEY = "sk-test-0123456789"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
ADDED = {"user-agent", "accept-encoding", "content-length", "expect", "connection"}
"""Headers in which two clients may differ without asking for anything else."""

JAR = """
127.0.0.1 FALSE / FALSE 0 session s
127.0.0.1 FALSE /a FALSE 4102444800 long 1
127.0.0.1 FALSE /a/b/ FALSE 4102444800 longer 2
127.0.0.1 FALSE /a/b FALSE 4102444800 longest 3
127.0.0.1 FALSE /x FALSE 0 elsewhere 4
127.0.0.1 TRUE / TRUE 0 secure 5
127.0.0.1 FALSE / FALSE 1000 expired 6
#HttpOnly_127.0.0.1 FALSE / FALSE 0 hidden 7
0.0.1 TRUE / FALSE 0 part 8
other.test TRUE / FALSE 0 other 9
.localhost TRUE / FALSE 4102444800 local 10
127.0.0.1 FALSE / FALSE 0 empty
127.0.0.1 FALSE / FALSE 0 session again
127.0.0.1 FALSE / FALSE soon wrong 11
"""
FORMS = {
    "quick start": """curl URL/v1/chat/completions \\
      -H "Content-Type: application/json" \\
      -H "Authorization: Bearer $OPENAI_API_KEY" \\
      -d '{
        "model": "alice",
        "messages": [{"role": "user", "content": "Say this is a test!"}],
        "temperature": 0.7
      }'""",
    "get": "curl URL/v1/models",
    "patterns": "curl 'URL/{a,b}/[1-3]' URL/[08-10:2]/[a-c:2]",
    "no patterns": "curl -g 'URL/{a,b}[1-3]?x={}'",
    "escaped patterns": r"curl 'URL/\[x\]\{y\}'",
    "a set of one": """curl 'URL/x?q={"a":1}'""",
    "config file": "curl -K curl.cfg -H 'X-After: 1' URL/second",
    "loop": """for model in alice "bob jones"; do
      curl URL/x --json "{\\"model\\": \\"$model\\"}"; done""",
    "defaults": 'curl "URL/${NONE:-x}/${MODEL_NAME:+y}${NONE:+z}"',
    "continued": "curl -C 5 URL/file",
    "negated switches": "curl --no-progress-meter --no-keepalive --fail-with-body URL/x",
    "get with a key": 'curl -s URL/v1/models -H "Authorization: Bearer ${OPENAI_API_KEY}" | jq ".data[].id"',
    "piped": """curl -sS -N URL/v1/completions -H 'Content-Type: application/json' -d '{"stream": true}' | tee out.txt | head""",
    "prompt sign": "$ curl -i URL/health",
    "browser": """curl 'URL/api?a=1&b=%20c' -X 'POST' -H 'accept: */*' -H 'accept-language: en-US,en;q=0.9' \\
      -H 'content-type: application/json' -b 'sid=abc; theme=dark' --data-raw '{"a":"b"}' --compressed""",
    "ansi quoting": r"""curl URL/x -H 'content-type: application/json' --data-raw $'{"a": "it\'s\n\u00e9\x41\t"}'""",
    "json option": """curl --json '{"model": "alice"}' URL/v1/completions""",
    "json twice": """curl --json '{"a": 1,' --json '"b": 2}' URL/x""",
    "json with a type": """curl -H 'Content-Type: application/vnd.x+json' --json '{}' URL/x""",
    "json from a file": "curl --json @body.json URL/x",
    "data twice": "curl -d a=1 -d b=2 -d 'c=x y' URL/form",
    "data glued": "curl -da=1 -XPUT URL/form",
    "data from a file": "curl URL/x -d @lines.txt",
    "binary from a file": "curl URL/x -H 'Content-Type: application/json' --data-binary @body.json",
    "binary bytes": "curl URL/x -H 'Content-Type: application/octet-stream' --data-binary @bytes.bin",
    "raw with an at sign": "curl URL/x --data-raw @lines.txt",
    "empty data": "curl -X POST URL/x -d ''",
    "post without data": "curl -X POST URL/reset",
    "get with data": "curl -G URL/search -d q=1 -d 'r=2'",
    "get with encoded data": "curl -G URL/search?z=0 --data-urlencode 'q=a b&c/é' --data-urlencode 'plain text' --data-urlencode '=x=y'",
    "encoded data": "curl URL/form --data-urlencode 'q=a b+c~d' --data-urlencode n@lines.txt",
    "url query": "curl URL/x --url-query 'a=b c' --url-query +raw=1",
    "user": "curl -u me:secret URL/private",
    "user in the address": "curl http://me:s%40cret@PLACE/private",
    "bearer": "curl --oauth2-bearer tok123 URL/x",
    "cookies": "curl -b a=1 -b 'b=2; c=3' URL/x",
    "cookies of a file": "curl -b jar.txt URL/a/b/c?x=/x",
    "cookies of a file and others": "curl -b jar.txt -b q=1 -H 'Cookie: own=2' URL/a",
    "cookies of a file and others, none in a header": "curl -b jar.txt -b q=1 -j URL/a/bc",
    "cookies of a file for another host": "curl -b jar.txt -H 'Cookie:' http://localhost:PORT/a/b",
    "referer of a redirect": "curl -e ';auto' URL/x",
    "referer, then that of a redirect": "curl -e 'http://from.test/;auto' URL/x",
    "agent and referer": "curl -A 'my agent/1.0' -e http://from.test/ URL/x",
    "headers with blanks from a file": "curl -H @blanks.txt -H 'X-Not; ' URL/x",
    "headers from a file": "curl -H @headers.txt URL/x",
    "header taken away": "curl -H 'Accept:' -H 'X-Empty;' -H 'X-Two: 1' -H 'X-Two: 2' URL/x",
    "host": "curl -H 'Host: other.test' URL/x",
    "head": "curl -I URL/x",
    "url option": "curl --request PATCH --url URL/x --header 'X-A: 1' --data '{}'",
    "switches in one": "curl -sSLkvXDELETE URL/x",
    "options with values": "curl --max-time 5 -o /dev/null -w '%{http_code}' --retry 0 --connect-timeout 3 -x '' --noproxy '*' URL/x",
    "environment before": "FOO=bar BAR='x y' curl URL/x -H 'X-Foo: 1'",
    "variables of the script": """BASE="URL/v1"
      MODEL=alice
      export BODY='{"model": "'"$MODEL"'"}'
      # a comment with 'a quote
      curl "$BASE/completions" -H 'Content-Type: application/json' -d "$BODY" """,
    "default value": 'curl "URL/${NOT_SET:-fallback}/x"',
    "double quotes": 'curl URL/x -H "Content-Type: application/json" -d "{\\"model\\": \\"$MODEL_NAME\\", \\"n\\": 1}"',
    "here-document": """curl URL/x -H 'Content-Type: application/json' -d @- <<'EOF'
{"model": "alice",
 "price": "$5"}
EOF""",
    "here-document with a variable": """curl -s URL/x -H 'Content-Type: application/json' --data-binary @- <<EOF
{"model": "$MODEL_NAME"}
EOF""",
    "here-string": """curl URL/x --data-binary @- <<< '{"a": 1}'""",
    "input from a file": "curl URL/x --data-binary @- < body.json",
    "answer kept in a variable": """RESPONSE=$(curl -s -X POST "URL/v1/completions" -d '{"a": ")"}'); echo "$RESPONSE\"""",
    "chained": "mkdir -p sub && curl URL/x -d 1 || echo failed; true",
    "form": "curl URL/upload -F model=whisper -F 'file=@clip.wav' -F 'note=<lines.txt' -F 'meta={\"a\":1};type=application/json'",
    "form with names": """curl URL/upload -F 'file=@body.json;type=application/json;filename=other name.json' --form-string 'at=@x;type=y'""",
    "upload": "curl -T body.json URL/files/",
    "range": "curl -r 0-99 URL/file",
    "dots": "curl URL/a/./b/../c",
    "dots as they are": "curl --path-as-is URL/a/../b",
    "fragment": "curl 'URL/x?a=b#part'",
    "two addresses": "curl URL/one URL/two -H 'X-A: 1'",
    "next": "curl URL/one -d 1 --next URL/two -H 'X-B: 2'",
    "several commands": "curl URL/one; curl -X POST URL/two -d 2\n\ncurl URL/three",
    "if": "if curl -sf URL/health; then curl URL/ready; fi",
}


class Seen(NamedTuple):
    """What of a request counts."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    async with RawServer() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "body.json").write_text('{\n  "model": "alice"\n}\n')
    (tmp_path / "lines.txt").write_text("a=1\r\nb=é &\n")
    (tmp_path / "headers.txt").write_text("X-One: 1\nX-Two: two words\n")
    (tmp_path / "blanks.txt").write_bytes(b"X-One: 1  \r\nX-Two:\t2\t\n# none\n\nX-Empty;\nX-None; \nX-Gone:  \n")
    (tmp_path / "jar.txt").write_text(
        "# Netscape HTTP Cookie File\n"
        + "".join("\t".join(line.split(" ")) + "\n" for line in JAR.strip().splitlines())
    )
    (tmp_path / "bytes.bin").write_bytes(bytes(range(256)))
    (tmp_path / "curl.cfg").write_text(
        '# a comment\nuser-agent = "my agent/2"\n-H "X-Config: a \\"b\\"\\tc"\nheader: X-Bare:1\nrequest=PUT\n--data a=1\n'
    )
    (tmp_path / "clip.wav").write_bytes(b"RIFF\r\n\0--x")
    return tmp_path


def seen(method: str, target: str, headers: Headers, body: bytes) -> Seen:
    """Boundaries of forms are chosen freely; versions of curl differ in `%c3` and in the blank between cookies."""
    target = re.sub(r"%[0-9a-f]{2}", lambda found: found[0].upper(), target)
    boundary = re.search(r"boundary=(\S+)", header(headers, "content-type") or "")
    kept = []
    for name, value in headers:
        if name.lower() in ADDED and not value.startswith("my agent"):
            continue
        value = re.sub(r";\s*", "; ", value) if name.lower() == "cookie" else value
        kept.append((name.lower(), value.replace(boundary[1], "B") if boundary else value))
    body = body.replace(boundary[1].encode(), b"B") if boundary else body
    return Seen(method, target, sorted(kept), body)


def sent_by_curl(raw: bytes) -> Seen:
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("utf-8", "surrogateescape").split("\r\n")
    pairs = tuple((name, value.strip()) for name, _, value in (line.partition(":") for line in lines))
    method, target, _ = first.split(" ")
    return seen(method, target, pairs, body)


def sent_by_llmdebug(request: Request, environment: dict[str, str]) -> Seen:
    wire = prepare(fill(request, environment)[0])
    return seen(wire.request.method, wire.target.decode(), wire.request.headers, wire.request.body)


async def really_sent(script: str, folder: Path, server: RawServer, environment: dict[str, str]) -> list[Seen]:
    process = await asyncio.create_subprocess_exec(
        "bash",
        "-c",
        re.sub(r"^\$ ", "", script),
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8", **environment},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    await process.wait()
    return [sent_by_curl(raw) for raw in server.requests]


@pytest.mark.parametrize("name", FORMS)
async def test_the_request_is_the_one_that_curl_sends(name: str, server: RawServer, folder: Path) -> None:
    place = await server.start(ANSWER)
    script = (
        FORMS[name].replace("URL", f"http://{place}").replace("PLACE", place).replace("PORT", place.rpartition(":")[2])
    )
    environment = {"OPENAI_API_KEY": KEY, "MODEL_NAME": "alice"}
    real = await really_sent(script, folder, server, environment)
    assert real
    parsed = parse_curls(script, folder=folder, environment=environment)
    assert all(KEY not in str(request) for request in parsed)
    assert without_accept([sent_by_llmdebug(request, environment) for request in parsed]) == without_accept(real)


def without_accept(requests: list[Seen]) -> list[Seen]:
    """`Accept: */*` asks for what no Accept asks for."""
    anything = ("accept", "*/*")
    return [one._replace(headers=[pair for pair in one.headers if pair != anything]) for one in requests]


WRITTEN = [
    Request(method="POST", url="http://PLACE/v1?a=b", headers=(("X-A", 'it\'s "$HOME" `x`'),), body=b'{"a": "\'"}'),
    Request(method="POST", url="http://PLACE/a/../b", headers=(("X-Empty", ""),), body=b""),
    Request(method="DELETE", url="http://PLACE/x[1]{2}"),
    Request(method="HEAD", url="http://PLACE/x"),
    Request(method="POST", url="http://PLACE/x", headers=(("Content-Type", "a/b"),), body=bytes(range(256))),
    Request(
        method="PUT", url="http://PLACE/x", headers=(("Content-Type", "text/plain"),), body=b"@x\n\n" + b"y" * 200_000
    ),
    Request(method="GET", url="http://PLACE/x", headers=(("Authorization", "Bearer {{secret:MY_KEY}}"),), body=b"{}"),
]


@pytest.mark.parametrize("number", range(len(WRITTEN)))
async def test_the_real_curl_sends_the_request_that_was_written(number: int, server: RawServer, folder: Path) -> None:
    place = await server.start(ANSWER)
    request = WRITTEN[number]
    request = Request(
        method=request.method, url=request.url.replace("PLACE", place), headers=request.headers, body=request.body
    )

    def beside(body: bytes) -> str:
        (folder / "written.body").write_bytes(body)
        return "written.body"

    environment = {"MY_KEY": KEY}
    real = await really_sent(curl_command(request, beside=beside), folder, server, environment)
    assert without_accept(real) == without_accept([sent_by_llmdebug(request, environment)])


def test_there_are_enough_forms() -> None:
    assert len(FORMS) >= 40
