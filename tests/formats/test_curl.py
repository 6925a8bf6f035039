"""curl commands, read and written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.formats.curl import curl_command, looks_like_curl, parse_curl, parse_curls
from llmdebug.formats.errors import FormatError
from llmdebug.http.exchange import Request, header

BODY = '{"model": "m", "prompt": "it\'s"}'


@pytest.mark.parametrize(
    "command",
    [
        "curl http://x/v1 -H 'Content-Type: application/json' -d '{\"a\": 1}'",
        'curl -X POST http://x/v1 \\\n  -H "Content-Type: application/json" \\\n  --data-raw \'{"a": 1}\' | jq .',
        "$ curl -sS -XPOST 'http://x/v1' --json '{\"a\": 1}' > out.json",
        "KEY=v curl --url=http://x/v1 --header='Content-Type: application/json' --data-binary $'{\"a\": 1}'",
        "curl -sSLH 'Content-Type: application/json' -o /dev/null -m 5 x/v1 -d'{\"a\": 1}'",
    ],
)
def test_forms_people_write(command: str) -> None:
    assert looks_like_curl(command)
    request = parse_curl(command)
    assert (request.method, request.url, request.body) == ("POST", "http://x/v1", b'{"a": 1}')
    assert header(request.headers, "content-type") == "application/json"


def test_more_options() -> None:
    request = parse_curl("curl -G http://x/?q=1 -d a=b --data-urlencode 'c=d e' -u me:pw -b k=v -A agent")
    assert request.url == "http://x/?q=1&a=b&c=d+e"
    assert request.method == "GET"
    assert header(request.headers, "authorization") == "Basic bWU6cHc="
    assert header(request.headers, "cookie") == "k=v"
    assert parse_curl("curl -I http://x").method == "HEAD"
    assert parse_curl("curl http://x -d a=1 -d b=2").body == b"a=1&b=2"
    assert parse_curl(r"curl http://x -d $'a\n\x41\u00e9\101'").body == "a\nAéA".encode()


@pytest.mark.parametrize(
    "command", ["curl", "curl ", "curl -d '{}'", "curl 'http://x", "curl http://x -d", "curl http://x -d @f", "x"]
)
def test_what_cannot_be_read_is_a_sentence(command: str) -> None:
    with pytest.raises(FormatError) as error:
        parse_curl(command)
    assert str(error.value).endswith(".")


@given(st.text(max_size=80))
def test_any_text_is_a_request_or_a_sentence(text: str) -> None:
    try:
        parse_curl("curl " + text)
    except FormatError as error:
        assert error.message


header_values = st.from_regex(r"[!-~]([ -~]{0,12}[!-~])?", fullmatch=True)


@given(
    st.sampled_from(["GET", "POST", "PATCH"]),
    st.lists(st.tuples(st.from_regex(r"X-[a-z]{1,5}", fullmatch=True), header_values), max_size=3),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r"), max_size=40),
)
def test_a_command_reads_back(method: str, headers: list[tuple[str, str]], body: str) -> None:
    given_headers = (("Content-Type", "text/plain"), *headers)
    request = Request(method=method, url="http://x/v1?a=b", headers=given_headers, body=body.encode())
    assert parse_curl(curl_command(request)) == request


def test_a_shell_reads_the_command_as_it_is_meant() -> None:
    request = Request(method="POST", url="http://x/v1", headers=(("A", "it's $HOME"),), body=BODY.encode())
    script = 'curl() { for a in "$@"; do printf \'%s\\0\' "$a"; done; }; ' + curl_command(request)
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    words = done.stdout.decode(sys.getfilesystemencoding()).split("\0")
    assert words[:-1] == ["-sS", "http://x/v1", "-H", "A: it's $HOME", "-H", "Content-Type:", "--data-raw", BODY]


def test_a_body_that_is_no_text_is_said() -> None:
    assert "no text" in curl_command(Request(method="POST", url="http://x", body=b"\xff"))


def test_a_large_body_goes_into_a_here_document() -> None:
    body = "x" * 200_000 + "\nEND_OF_BODY"
    headers = (("Content-Type", "text/plain"),)
    request = Request(method="POST", url="http://x/v1", headers=headers, body=body.encode())
    command = curl_command(request)
    assert len(max(command.split("\n")[:2], key=len)) < 100
    assert parse_curl(command).body == request.body + b"\n"


def test_several_commands_each_make_a_request() -> None:
    script = "A=1\ncurl http://x/$A\ncurl http://x/2 -d @- <<'E'\nhi\nE\nwget http://y\n"
    first, second = parse_curls(script, environment={})
    assert (first.url, second.url, second.body) == ("http://x/1", "http://x/2", b"hi")


def test_secrets_of_the_environment_stand_by_their_names() -> None:
    command = 'curl http://x -H "Authorization: Bearer $OPENAI_API_KEY" -H "X-Org: $ORG" -u "me:$PASSWORD"'
    [request] = parse_curls(command, environment={"OPENAI_API_KEY": "sk-1", "ORG": "o"})
    assert request.headers[0] == ("Authorization", "Bearer {{secret:OPENAI_API_KEY}}")
    assert header(request.headers, "X-Org") == "o"
    assert request.url == "http://me:{{secret:PASSWORD}}@x"
    [own] = parse_curls("OPENAI_API_KEY=sk-2\n" + command, environment={"ORG": "o"})
    assert own.headers[0] == ("Authorization", "Bearer sk-2")


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("echo\ncurl http://x -d @../secret", "f.sh:2: The file ../secret lies outside of"),
        ("curl http://x -d @none.json", "f.sh:1: The file none.json: There is no such file."),
        ("cat b.json | curl http://x -d @-", "f.sh:1: The command reads its body from another's output"),
        ('curl http://x -d "$(date)"', "f.sh:1: A part of this command is the output of another"),
        ("echo\n\ncurl http://x -d 'a", "f.sh:3: The shell text is not complete: A quote is not closed."),
        ("curl http://x -d @- <<E\n$(date)\nE", "f.sh:1: A part of this command is the output of another"),
        ("curl http://x -F novalue", "f.sh:1: 'novalue' is no field of a form"),
        ("curl -d @- http://x <<E\nabc", "f.sh:2: The shell text is not complete: The here-document"),
        ("echo\ncurl http://x \\\n  -d $BODY", "f.sh:3: The variable BODY is not set"),
        ('curl http://x -d "a ${UNSET} b"', "f.sh:1: The variable UNSET is not set"),
        ('A="$NONE"\ncurl http://x/$A', "f.sh:2: The variable NONE is not set"),
        ('curl http://x -d "costs $5"', "f.sh:1: $5 is what a script is called with"),
        ("curl http://x/${A%%/*}", "f.sh:1: ${A%%/*} is no expansion"),
        ("curl http://x/`date`", "f.sh:1: A part of this command is the output of another"),
        ("curl http://x -d @- <<E\n$NONE\nE", "f.sh:1: The variable NONE is not set"),
        ("for f in *.json; do\ncurl http://x/$f\ndone", "f.sh:2: The variable f is set by a loop"),
        ("while read -r id; do\ncurl http://x/$id\ndone < ids", "f.sh:2: The variable id is read from elsewhere"),
        ("curl http://x \\\n --no-such-thing a", "f.sh:2: curl has no option --no-such-thing"),
        ("curl http://x --heder 'A: b'", "f.sh:1: curl has no option --heder; it has --header."),
        ("curl -sW http://x", "f.sh:1: curl has no option -W (in -sW)."),
        ("curl --digest -u a:b http://x", "f.sh:1: The option --digest signs in its own way"),
        ("curl -K none.cfg", "f.sh:1: The file none.cfg: There is no such file."),
        ("curl -K bad.cfg", "f.sh:1: Line 2 of its config file: curl has no option --what."),
        ("curl -K self.cfg", "f.sh:1: Config files lead to one another."),
        ("curl 'http://x/{a'", "f.sh:1: curl takes { at position 10 of the URL for a pattern"),
        ("curl 'http://x/[a]'", "f.sh:1: curl takes [a] at position 10"),
        ("curl 'http://x/[1-9999]'", "f.sh:1: [1-9999] stands for 9,999 URLs"),
        ("curl 'http://x/[1-99]/[1-99]'", "f.sh:1: The URL stands for 9,801 URLs"),
        ("echo\ncurl http://x/\0", "f.sh:2: This holds a NUL character"),
        ("curl http://x -d $'a\\x00'", "f.sh:1: This holds a NUL character"),
        (
            "for a in %s; do for b in %s; do curl http://x; done; done" % (("1 " * 50,) * 2),
            "f.sh:1: The loops make more",
        ),
        ("curl http://x -b none.txt", "f.sh:1: The file none.txt: There is no such file."),
        ("curl http://x \\\n -b set.txt", "f.sh:2: The cookies of a file with Set-Cookie lines are not followed"),
        ("curl http://x --tr-encoding", "f.sh:1: The option --tr-encoding asks for a compressed transfer: it is not"),
        ("curl http://x -d 1 -H 'transfer-encoding: chunked'", "f.sh:1: The header transfer-encoding: chunked is not"),
        ("echo curls", "f.sh: There is no curl command in it."),
    ],
)
def test_what_is_not_read_is_told_with_its_line(script: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "bad.cfg").write_text("url = http://x\nwhat = 1\n")
    (tmp_path / "set.txt").write_text("HTTP/1.1 200 OK\nSet-Cookie: a=1\n")
    (tmp_path / "self.cfg").write_text("config = self.cfg\n")
    with pytest.raises(FormatError) as error:
        parse_curls(script, path="f.sh", folder=tmp_path, environment={})
    assert str(error.value).startswith(told)


def test_loops_over_words_are_followed_and_others_taken_once() -> None:
    told: list[str] = []
    script = "for m in a b; do for n in 1 2; do curl http://x/$m$n; done; done\nwhile true; do curl http://y; done\ncurl http://z"
    urls = [request.url for request in parse_curls(script, path="f", environment={}, warn=told.append)]
    assert urls == ["http://x/a1", "http://x/a2", "http://x/b1", "http://x/b2", "http://y", "http://z"]
    assert told == ["f:2: The loop around this command is not run: it is taken once."]


@pytest.mark.parametrize("between", [" || ", " | cat || \\\n ", " ||\n{ ", " || ( sudo ", " || X=1 "])
def test_what_is_run_only_where_another_command_fails_is_told(between: str) -> None:
    told: list[str] = []
    script = f"curl http://x/a{between}curl http://x/b && curl http://x/c\ncurl http://x/d"
    urls = [request.url for request in parse_curls(script, path="f", environment={}, warn=told.append)]
    assert urls == [f"http://x/{name}" for name in "abcd"]
    line = 1 + between.count("\n")
    [only] = told
    assert only.startswith(f"f:{line}: A shell runs this command only where the one before || fails")


def test_variables_of_a_replay_are_no_patterns_of_a_url() -> None:
    url = "http://x/{{login.response.body.$.id}}/[1-2]?k={{secret:API_KEY}}"
    assert [request.url for request in parse_curls(f"curl '{url}'", environment={})] == [
        url.replace("[1-2]", number) for number in "12"
    ]
