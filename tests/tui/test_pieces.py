"""The small parts: pastes, request texts, marks, streams, editors, clipboards."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from screen_fakes import URL, diagnosis, request

from llmdebug.http.exchange import Request, StreamEvent
from llmdebug.tui import clipboard, editor
from llmdebug.tui.paste import understand
from llmdebug.tui.requesttext import RequestTextError, body_line, parse_request, request_text, shown_url
from llmdebug.tui.views.diagnosisview import diagnosis_text, excerpt_rows, remedy_bar, verdict_rows
from llmdebug.tui.views.requestview import editable_body, marks_of, problem_of
from llmdebug.tui.views.rows import plain
from llmdebug.tui.views.streamtext import assistant_turn, stream_text

names = st.from_regex(r"[A-Za-z][A-Za-z0-9-]{0,8}", fullmatch=True)
header_values = st.from_regex(r"[!-~]([ -~]{0,10}[!-~])?", fullmatch=True)
bodies = st.text(st.characters(exclude_characters="\r", exclude_categories=["Cs"]), max_size=40)


@given(st.lists(st.tuples(names, header_values), max_size=3), bodies, st.sampled_from(["/v1/x", "/a?b=c", "/"]))
def test_a_request_comes_back_from_its_text(headers: list[tuple[str, str]], body: str, path: str) -> None:
    original = Request(method="POST", url=URL + path, headers=tuple(headers), body=body.encode())
    text = request_text(original, URL, body)
    assert parse_request(text, original, URL) == original


@given(st.text(max_size=60))
def test_any_text_is_a_request_or_a_sentence(text: str) -> None:
    try:
        parse_request(text, request(), URL)
    except RequestTextError as error:
        assert error.line >= 1
        assert str(error).endswith(".")


def test_urls_are_shown_short_where_the_server_is_known() -> None:
    assert shown_url("http://gw/team/v1/chat", "http://gw/team/v1") == "/team/v1/chat"
    assert shown_url("http://other/v1", "http://gw") == "http://other/v1"
    changed = parse_request("POST /team/v1/x\n\n", request(), "http://gw/team/v1")
    assert changed.url == "http://gw/team/v1/x"


def test_marks_stand_at_the_fields() -> None:
    body = editable_body(request().body)
    assert body is not None
    assert marks_of(body, diagnosis(), request().body) == {0: "✗", 2: "?"}
    assert marks_of("{broken", diagnosis(), request().body) == {}
    assert marks_of('{"prompt": "x"}', diagnosis(), request().body) == {}, "what was changed is not marked"
    assert body_line(f"POST /\nA: b\n\n{body}") == 4


@pytest.mark.parametrize(
    ("body", "told"),
    [(b'{"a": 1', "ends too early"), (b'{"a": 1, "a": 2}', "stands twice"), (b'{"a": 1}', ""), (b"", "")],
)
def test_problems_of_a_body(body: bytes, told: str) -> None:
    assert told in problem_of(body)
    assert bool(problem_of(body)) == bool(told)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("curl -d '{}' http://x", "curl"),
        ("  $ OPENAI_API_KEY=x curl http://x", "curl"),
        ("curl", "nothing"),
        ("POST http://x/v1\n\n{}", "request"),
        ('{"model": "m"}', "body"),
        ('{"prompt": "x", "object": "y"}', "body"),
        ('{"error": {"message": "no"}}', "answer"),
        ('{"detail": "no"}', "answer"),
        ("openai.BadRequestError: Error code: 400 - {'error': 1}", "answer"),
        ("HTTP/1.1 400 Bad Request\n\n{}", "answer"),
        ('{"model": "m", ', "body"),
        ("Traceback (most recent call last):\n  File \"/a/b.py\", line 1, in f\n    x\nKeyError: 'a'", "log"),
        ("panic: no\n\ngoroutine 1 [running]:\nmain.f()\n\t/b/main.go:4 +0x1", "log"),
        (
            'Traceback (most recent call last):\n  File "/a/b.py", line 1, in f\n    x\n'
            "openai.BadRequestError: Error code: 400 - {'error': {'message': 'no'}}",
            "answer",
        ),
        ("hello", "nothing"),
        ("", "nothing"),
    ],
)
def test_pastes(text: str, kind: str) -> None:
    assert understand(text).kind == kind


@given(st.text(max_size=120))
def test_any_paste_is_something(text: str) -> None:
    found = understand(text)
    assert (found.kind == "nothing") == bool(found.problem)


def test_a_stream_is_put_together() -> None:
    chunks = [
        '{"choices": [{"index": 0, "delta": {"role": "assistant", "reasoning_content": "hm"}}]}',
        '{"choices": [{"index": 0, "delta": {"content": "Hel"}}]}',
        '{"choices": [{"delta": {"content": "lo", "tool_calls": [{"index": 0, "function": {"name": "f"}}]}}]}',
        '{"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": "{\\"a\\":1}"}}]}}]}',
        '{"error": {"message": "died"}}',
        "not json",
        "[DONE]",
    ]
    text = stream_text(StreamEvent(data=chunk, at=0.0) for chunk in chunks)
    said = text.choices[0]
    assert (said.text, said.reasoning, said.calls[0].name, said.calls[0].arguments) == ("Hello", "hm", "f", '{"a":1}')
    assert text.errors == ["died"]
    message = assistant_turn(text)
    assert message is not None
    assert message["tool_calls"][0]["function"]["arguments"] == '{"a":1}'


@given(st.recursive(st.none() | st.integers() | st.text(), lambda i: st.lists(i) | st.dictionaries(st.text(), i)))
def test_any_event_is_survived(value: object) -> None:
    import json

    for data in (json.dumps(value), json.dumps({"choices": [value], "error": value}), json.dumps({"choices": value})):
        stream_text([StreamEvent(data=data, at=0.0)])


def test_a_diagnosis_as_text() -> None:
    text = diagnosis_text(diagnosis())
    for part in (
        "server.py:3 declares",
        "3 ▶     prompt",
        "✗ /prompt missing, 97%",
        "? /prompt_token_ids",
        "1 send the ids",
    ):
        assert part in text
    assert "start the server with --flag" in text


def test_remedies_share_lines_where_they_fit() -> None:
    assert len(remedy_bar(diagnosis(), 100, 3)) == 1
    assert len(remedy_bar(diagnosis(), 40, 3)) == 2
    assert remedy_bar(None, 40, 3) == ()


@pytest.mark.parametrize("cells", [4, 20, 39, 200])
def test_a_hostile_excerpt_is_harmless(cells: int) -> None:
    rows = excerpt_rows("1 ▶ \x1b[2Jevil\u202e\tx日本" + "y" * 300, cells)
    assert all("\x1b" not in plain(row) and "\u202e" not in plain(row) for row in rows)
    verdict_rows(diagnosis(summary="\x1b[2J" * 50), cells)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("vim", ["vim", "+7", "/f"]),
        ("/usr/bin/nvim -p", ["/usr/bin/nvim", "-p", "+7", "/f"]),
        ("nano", ["nano", "+7", "/f"]),
        ("hx", ["hx", "/f:7"]),
        ("micro", ["micro", "/f:7"]),
        ("code", ["code", "--goto", "/f:7"]),
        ("emacsclient", ["emacsclient", "-t", "+7", "/f"]),
        ("ed", ["ed", "/f"]),
        ("my {file} at {line}", ["my", "/f", "at", "7"]),
    ],
)
def test_editors_are_told_the_line_in_their_own_way(command: str, expected: list[str]) -> None:
    assert editor.editor_arguments(command.split(), "/f", 7) == expected


def test_editors_in_the_terminal_and_those_that_return_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    assert editor.editor_arguments(["emacs"], "/f", 7) == ["emacs", "-nw", "+7", "/f"]
    assert editor.editor_arguments(["code"], "/f", 7, wait=True) == ["code", "--wait", "--goto", "/f:7"]


def _executable(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_which_editor(tmp_path: Path) -> None:
    _executable(tmp_path, "nano", "")
    mine = _executable(tmp_path, "mine", "")
    path = {"PATH": str(tmp_path)}
    assert editor.editor_words({**path, "EDITOR": "nano", "VISUAL": f"{mine} -x"}) == [str(mine), "-x"]
    assert editor.editor_words({**path, "VISUAL": "mine"}, configured="nano") == ["nano"]
    assert editor.editor_words(path) == ["nano"]
    for environment in ({**path, "VISUAL": "absent"}, {**path, "EDITOR": "'"}, {"PATH": "/nowhere"}):
        with pytest.raises(editor.NoEditorError):
            editor.editor_words(environment)


def test_an_edit_outside_comes_back_or_is_kept(tmp_path: Path) -> None:
    import subprocess

    def run(arguments: object) -> int:
        return subprocess.run(arguments, check=False).returncode  # type: ignore[call-overload, no-any-return]

    good = _executable(tmp_path, "good", 'echo changed > "$1"')
    assert editor.edited_text("text", 1, run, str(good)) == ("changed", "")
    bad = _executable(tmp_path, "bad", 'echo changed > "$1"; exit 3')
    text, told = editor.edited_text("text", 1, run, str(bad))
    assert text is None
    assert "status 3" in told
    kept = Path(told.rpartition(" is in ")[2].rstrip("."))
    assert kept.read_text(encoding="utf-8") == "changed\n"
    kept.unlink()
    text, told = editor.edited_text("text", 1, run, "absent-editor")
    assert (text, "not installed" in told) == (None, True)


def test_copying_says_where_it_went(tmp_path: Path) -> None:
    written: list[str] = []
    where = clipboard.copy("text", environment={"TERM": "xterm"}, write=written.append, folder=tmp_path)
    assert "OSC 52" in where
    assert written == ["\x1b]52;c;" + base64.b64encode(b"text").decode() + "\x07"]
    for environment, text in (({"TERM": "linux"}, "short"), ({"TERM": "xterm"}, "x" * 100_000)):
        where = clipboard.copy(text, environment=environment, write=written.append, folder=tmp_path)
        assert str(tmp_path / "copied.txt") in where
        assert (tmp_path / "copied.txt").read_text(encoding="utf-8") == text
        assert (tmp_path / "copied.txt").stat().st_mode & 0o777 == 0o600


def test_tmux_is_asked_first_and_its_refusal_is_survived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _executable(tmp_path, "tmux", f'cat > {tmp_path}/got; [ "$2" != "-w" ]')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    where = clipboard.copy("text", environment={"TMUX": "x", "TERM": "screen"}, write=lambda _t: None, folder=tmp_path)
    assert "tmux's buffer" in where
    assert (tmp_path / "got").read_text(encoding="utf-8") == "text"
    _executable(tmp_path, "tmux", "echo no server >&2; exit 1")
    written: list[str] = []
    where = clipboard.copy("text", environment={"TMUX": "x", "TERM": "screen"}, write=written.append, folder=tmp_path)
    assert "OSC 52" in where
    assert written
