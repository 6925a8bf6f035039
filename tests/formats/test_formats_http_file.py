from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmdebug.formats.errors import FormatError
from llmdebug.formats.http_file import HttpFile, parse_http_text, read_http_file, split_selector
from llmdebug.formats.http_writing import append_http_file
from llmdebug.http.exchange import Request

WHOLE = """# a comment
@host = http://localhost:8000
@base = {{host}}/v1

### Complete
# @name complete
POST {{base}}/completions HTTP/1.1
Content-Type: application/json
// not a header
Authorization: Bearer {{$processEnv KEY}}

{
  "prompt": "{{ messages[0] }} ### inside",

  "n": 1
}

> {%
  client.test("x", function() {});
%}

### List models
GET {{base}}/models
    ?limit=10
    &after=x

###
// @name bare
{{host}}/health
"""


def parsed(text: str, environment: Mapping[str, str] | None = None, **rest: object) -> HttpFile:
    return parse_http_text(text, path="t.http", environment=environment or {}, **rest)  # type: ignore[arg-type]


def test_a_whole_file() -> None:
    file = parsed(WHOLE, {"KEY": "sk-1"})
    assert file.names == ("complete", "List models", "bare")
    assert file.warnings == ("t.http:18: a script is not run; it is skipped.",)
    first, second, third = file.requests()
    assert first == Request(
        method="POST",
        url="http://localhost:8000/v1/completions",
        headers=(("Content-Type", "application/json"), ("Authorization", "Bearer sk-1")),
        body=b'{\n  "prompt": "{{ messages[0] }} ### inside",\n\n  "n": 1\n}',
        name="complete",
    )
    assert (second.method, second.url) == ("GET", "http://localhost:8000/v1/models?limit=10&after=x")
    assert (third.method, third.url, third.body) == ("GET", "http://localhost:8000/health", b"")


def test_a_request_is_found_by_name_or_number() -> None:
    file = parsed("GET http://h/1\n### two\nGET http://h/2\n### 1\nGET http://h/3\n")
    assert file.request().url == "http://h/1"
    assert file.request("two").url == "http://h/2"
    assert file.request(2).url == "http://h/2"
    assert file.request("1").url == "http://h/3"
    with pytest.raises(FormatError, match="no request 'three' in it; there are: two, 1"):
        file.request("three")
    with pytest.raises(FormatError, match="no request"):
        parsed("# nothing\n@a = b\n").request()


def test_one_requests_missing_variable_is_not_in_anothers_way() -> None:
    file = parsed("GET http://h/1\n###\nGET http://h/{{none}}\n")
    assert file.request(1).url == "http://h/1"
    with pytest.raises(FormatError):
        file.requests()


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("@hostname = h\n\nGET http://{{hostnam}}/", 3, "hostnam is not defined; did you mean hostname?"),
        ("GET http://h/\n\n{\n  {{nothing}}\n}", 4, "nothing is not defined."),
        ("GET http://h/\nX: {{gone}}\n", 2, "gone is not defined"),
        ("@a = {{b}}\n@b = {{a}}\nGET http://{{a}}/", 1, "defined by itself"),
        ("GET http://h/\nno header\n", 2, "is no header"),
        ("GET http://h/\n\n> {%\nx", 3, "not closed"),
        ("GET /v1/models", 1, "names no server"),
        ("GET http://h/{{$processEnv KEI}}", 1, "KEI is not set in the environment; did you mean KEY?"),
        ("GET http://h/{{$processEnv}}", 1, "Name one variable"),
        ("GET http://h/{{$uiid}}", 1, "no variable $uiid; did you mean"),
        ("GET http://h/{{$randomInt 5 5}}", 1, "cannot be computed"),
        ("GET http://h/{{$timestamp 1 y}}", 1, "cannot be computed"),
        ("GET http://h/{{$dotenv A}}", 1, "no folder"),
        ("POST http://h/\n\n< ./x.json", 3, "no folder"),
    ],
)
def test_errors_name_file_and_line(text: str, line: int, told: str) -> None:
    with pytest.raises(FormatError, match=re.escape(told)) as caught:
        parsed(text, {"KEY": "k"}).requests()
    assert caught.value.line == line
    assert str(caught.value).startswith(f"t.http:{line}: ")


def test_an_expanding_bomb_is_an_error() -> None:
    lines = ["@a0 = xxxxxxxxxx"] + [f"@a{n} = " + f"{{{{a{n - 1}}}}}" * 10 for n in range(1, 12)]
    with pytest.raises(FormatError, match="too long"):
        parsed("\n".join([*lines, "GET http://h/{{a11}}"])).requests()


def test_computed_variables() -> None:
    text = "@id = {{$uuid}}\nGET http://h/{{id}}/{{id}}/{{$guid}}/{{$timestamp -1 d}}/{{$timestamp}}/{{$randomInt 3 4}}"
    *_, one, two, three, before, now, number = parsed(text).request().url.split("/")
    assert one == two != three
    assert int(now) - int(before) == 86400
    assert number == "3"


def test_a_variable_is_the_last_defined_before_its_use() -> None:
    file = parsed("@a = 1\nGET http://h/{{a}}/{{late}}\n###\n@a = 2\n@late = x\nGET http://h/{{a}}")
    assert [request.url for request in file] == ["http://h/1/x", "http://h/2"]


def test_given_variables_win() -> None:
    assert parsed("@a = 1\nGET http://h/{{a}}", variables={"a": "9"}).request().url == "http://h/9"


def test_redacted_secrets_and_template_languages_stay() -> None:
    text = "POST http://h/\nAuthorization: Bearer {{secret:KEY}}\n\n{% for m in x %}{{ m['a'] }}{{ a b }}{% endfor %}"
    request = parsed(text).request()
    assert request.headers[0][1] == "Bearer {{secret:KEY}}"
    assert request.body == b"{% for m in x %}{{ m['a'] }}{{ a b }}{% endfor %}"


def test_addresses_without_a_server() -> None:
    assert parsed("POST /v1/completions", base_url="https://gw/team/v1").request().url == (
        "https://gw/team/v1/completions"
    )
    assert parsed("GET /x\nHost: h:8000").request().url == "http://h:8000/x"
    assert parsed("GET /x\nHost: h:443").request().url == "https://h:443/x"
    assert parsed("localhost:8000/v1/models").request().url == "http://localhost:8000/v1/models"


def test_request_lines() -> None:
    lines = {
        "get\thttp://h/\tHTTP/1.1": ("GET", "http://h/"),
        "  POST   http://h/a b  HTTP/2": ("POST", "http://h/a b"),
        "http://h/ HTTP/1.1": ("GET", "http://h/"),
        "http://h/x y": ("GET", "http://h/x y"),
    }
    for line, expected in lines.items():
        request = parsed(line).request()
        assert (request.method, request.url) == expected


def test_line_ends_and_forms() -> None:
    file = parsed("POST http://h/\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\na=1\r\n&b=2\r\n\r\n")
    assert file.request().body == b"a=1&b=2"


def test_included_files(tmp_path: Path) -> None:
    (tmp_path / "body.bin").write_bytes(b"\x00\xff{{a}}")
    (tmp_path / "text.json").write_text('{"a": "{{a}}"}')
    (tmp_path / ".env").write_text("# secrets\nexport A = \"x y\"\nB='q'\nC=1 # one\nnonsense\n")
    file = tmp_path / "t.http"
    file.write_text(
        "@a = 1\nPOST http://h/{{$dotenv A}}{{$dotenv B}}{{$dotenv C}}\n\n< ./body.bin\n###\n"
        "POST http://h/\n\n<@ text.json\n###\nPOST http://h/\n\nbefore\n< text.json\nafter\n"
    )
    first, second, third = read_http_file(file).requests()
    assert first.url == "http://h/x yq1"
    assert first.body == b"\x00\xff{{a}}"
    assert second.body == b'{"a": "1"}'
    assert third.body == b'before\n{"a": "{{a}}"}\nafter'


@pytest.mark.parametrize("name", ["/etc/passwd", "../outside", "link", "none.json", "folder", "bad\0name"])
def test_files_that_are_not_included(tmp_path: Path, name: str) -> None:
    (tmp_path / "outside").write_text("secret")
    inner = tmp_path / "inner"
    (inner / "folder").mkdir(parents=True)
    (inner / "link").symlink_to(tmp_path / "outside")
    (inner / "t.http").write_text(f"POST http://h/\n\n< {name}")
    with pytest.raises(FormatError) as caught:
        read_http_file(inner / "t.http").requests()
    assert caught.value.line == 3


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file"):
        read_http_file(tmp_path / "none.http")
    with pytest.raises(FormatError, match="folder"):
        read_http_file(tmp_path)
    bad = tmp_path / "bad.http"
    bad.write_bytes(b"GET http://h/\n\xff")
    with pytest.raises(FormatError, match=r"bad\.http:2: The byte 0xFF is not UTF-8"):
        read_http_file(bad)


def test_selectors(tmp_path: Path) -> None:
    assert split_selector("a.http#one") == ("a.http", "one")
    assert split_selector("a.http") == ("a.http", None)
    assert split_selector("a.http#") == ("a.http", None)
    odd = tmp_path / "c#.http"
    odd.write_text("GET http://h/")
    assert split_selector(str(odd)) == (str(odd), None)
    assert split_selector(f"{odd}#one") == (str(odd), "one")


NAMES = st.text(alphabet="abcXYZ019-", min_size=1, max_size=8)
BODIES = st.one_of(
    st.binary(max_size=30),
    st.lists(st.sampled_from(["{", "}", "\n", "###", "< a", "> {%", "{{a}}", " ", "x", "# y", "\r", "é"])).map(
        lambda parts: "".join(parts).encode()
    ),
)


@settings(max_examples=200)
@given(
    requests=st.lists(
        st.builds(
            Request,
            method=st.sampled_from(["GET", "POST", "DELETE"]),
            url=st.sampled_from(["http://h/", "https://h:1/a?b=c&d", "http://h/a/../b"]),
            headers=st.lists(st.tuples(NAMES, st.sampled_from(["", "1", "a: b", "é"]))).map(tuple),
            body=BODIES,
            name=st.sampled_from(["", "one", "two words"]),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_what_is_written_reads_back(tmp_path_factory: pytest.TempPathFactory, requests: list[Request]) -> None:
    file = tmp_path_factory.mktemp("written") / "saved.http"
    for request in requests:
        append_http_file(file, request, keep_secrets=True)
    assert read_http_file(file).requests() == requests


def test_saved_files_hold_no_secrets_and_are_private(tmp_path: Path) -> None:
    file = tmp_path / "saved.http"
    append_http_file(
        file,
        Request(
            method="POST",
            url="http://me:pw@h/?key=k1",
            headers=(("Authorization", "Bearer sk-12345678"), ("Host", "h"), ("Content-Length", "3")),
            body=b'{"api_key": "b1"}',
        ),
    )
    text = file.read_text()
    assert text == (
        "###\nPOST http://{{secret:URL_CREDENTIALS}}@h/?key={{secret:KEY}}\n"
        'Authorization: Bearer {{secret:AUTHORIZATION}}\n\n{"api_key": "{{secret:API_KEY}}"}\n'
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be saved"):
        append_http_file(tmp_path / "none" / "x.http", Request(method="GET", url="http://h/"))


LINES = st.sampled_from(
    [
        "###",
        "### x",
        "GET http://h/",
        "# @name a",
        "@a = {{b}}",
        "@b = 1",
        "X: {{a}}",
        "",
        "{{a}}",
        "< {%",
        "%}",
        "< f",
        "?a",
        "é",
    ]
)


@given(st.lists(LINES, max_size=12).map("\n".join))
def test_any_file_gives_requests_or_an_error_with_a_line(text: str) -> None:
    try:
        parsed(text).requests()
    except FormatError as error:
        assert error.line is not None
