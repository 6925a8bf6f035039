from __future__ import annotations

import traceback
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmdebug.formats.errors import FormatError
from llmdebug.formats.logfile import LogFile
from llmdebug.formats.logprefix import split_prefix
from llmdebug.formats.serverlog import MAX_BYTES, ServerLog, Trace, looks_like_log, read_log

CHAINED = """
INFO:     127.0.0.1:5 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error
ERROR:    Exception in ASGI application
Traceback (most recent call last):
  File "/usr/lib/python3.12/site-packages/uvicorn/run.py", line 409, in run_asgi
    result = await app(scope)
             ^^^^^^^^^^
  File "/srv/app/routes.py", line 12, in create
    raise ValueError("too deep")
ValueError: too deep
and more of it

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/srv/app/routes.py", line 20, in outer
    create()
    ~~~~~~^^
shop.errors.Refused: wrapped
"""
TWO_PROCESSES = """
(Core_0 pid=11) ERROR 07-01 12:00:00 [core.py:396] Traceback (most recent call last):
(Front pid=10) INFO 07-01 12:00:00 [loggers.py:1] 5 tokens per second
(Core_0 pid=11) ERROR 07-01 12:00:00 [core.py:396]   File "/x/app/core.py", line 387, in run
(Front pid=10) ERROR 07-01 12:00:00 [core.py:396] Traceback (most recent call last):
(Front pid=10) ERROR 07-01 12:00:00 [core.py:396]   File "/x/app/front.py", line 3, in get
(Core_0 pid=11) ERROR 07-01 12:00:00 [core.py:396]     core.loop()
(Front pid=10) ERROR 07-01 12:00:00 [core.py:396]     queue.get()
(Core_0 pid=11) ERROR 07-01 12:00:01 [core.py:396] AssertionError: bad thing
(Front pid=10) ERROR 07-01 12:00:01 [core.py:396] app.errors.Dead: the core died
"""
PREFIX_ON_THE_HEADING = """
[2026-07-01 12:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "/x/app/scheduler.py", line 2, in run
    self.step()
KeyError: 'image'

[2026-07-01 12:00:01] Child process failed
"""
GROUP = """
  + Exception Group Traceback (most recent call last):
  |   File "/x/a.py", line 1, in f
  |     g()
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/x/b.py", line 7, in g
    |     h()
    | TypeError: 'NoneType' object is not iterable
    +------------------------------------
"""
GO = """
2026/01/01 12:00:00 http: panic serving 127.0.0.1:4: runtime error: index out of range [5] with length 3
goroutine 12 [running]:
panic({0x1, 0x2})
\t/usr/local/go/src/runtime/panic.go:770 +0x132
example.com/shop/server.(*Server).Chat(0xc000, 0x1)
\t/build/server/routes.go:1234 +0x1a
created by net/http.(*Server).Serve in goroutine 1
\t/usr/local/go/src/net/http/server.go:3285 +0x4b4
time=2026-01-01T12:00:00.000Z level=WARN source=routes.go:99 msg="slow now"
"""


def last(text: str) -> Trace:
    return read_log(text).chains[-1][-1]


def test_chained_tracebacks() -> None:
    ((first, second),) = read_log(CHAINED).chains
    assert (first.error, first.text, first.link) == ("ValueError", "too deep\nand more of it", "")
    assert [(f.path, f.line, f.function, f.code) for f in first.frames][1:] == [
        ("/srv/app/routes.py", 12, "create", 'raise ValueError("too deep")')
    ]
    assert (second.error, second.text, second.link) == ("Refused", "wrapped", "cause")
    assert second.frames[0].code == "create()"


def test_processes_that_write_into_each_other() -> None:
    (core,), (front,) = read_log(TWO_PROCESSES).chains
    assert (core.error, core.text, core.frames[0].code) == ("AssertionError", "bad thing", "core.loop()")
    assert (front.error, front.text, front.frames[0].path) == ("Dead", "the core died", "/x/app/front.py")


def test_a_prefix_before_the_heading_alone() -> None:
    log = read_log(PREFIX_ON_THE_HEADING)
    assert [(t.error, t.text, t.frames[0].line) for (t,) in log.chains] == [("KeyError", "'image'", 2)]
    assert [line.text for line in log.lines] == ["Child process failed"]


def test_a_line_with_a_time_is_no_more_of_a_message_without() -> None:
    text = PREFIX_ON_THE_HEADING.replace("'image'\n\n", "'image'\nand why\n")
    assert last(text).text == "'image'\nand why"


def test_exception_groups() -> None:
    assert [t.error for (t,) in read_log(GROUP).chains] == ["ExceptionGroup", "TypeError"]
    assert last(GROUP).frames[0].line == 7


def test_panics_of_go() -> None:
    log = read_log(GO)
    ((panic,),) = log.chains
    assert panic.text.startswith("runtime error: index out of range")
    assert [(f.path, f.line) for f in panic.frames[-2:]] == [
        ("/build/server/routes.go", 1234),
        ("/usr/local/go/src/runtime/panic.go", 770),
    ]
    assert panic.frames[-2].function == "example.com/shop/server.(*Server).Chat"
    (line,) = log.lines
    assert (line.level, line.path, line.line, line.text) == ("WARNING", "routes.go", 99, "slow now")


@pytest.mark.parametrize(
    ("text", "path", "line", "said"),
    [
        (
            "thread 'tokio' panicked at router/src/check.rs:12:45:\ncalled unwrap on None",
            "router/src/check.rs",
            12,
            "called unwrap on None",
        ),
        ("thread 'main' panicked at 'no way', src/main.rs:7:5", "src/main.rs", 7, "no way"),
        (
            "/build/app/src/sampling.cpp:660: CHECK(n > 0) failed",
            "/build/app/src/sampling.cpp",
            660,
            "CHECK(n > 0) failed",
        ),
    ],
)
def test_lines_that_name_their_place(text: str, path: str, line: int, said: str) -> None:
    trace = last(text)
    assert (trace.frames[0].path, trace.frames[0].line, trace.text) == (path, line, said)


def test_what_python_itself_prints() -> None:
    try:
        try:
            {}["a"]  # type: ignore[index]
        except KeyError as error:
            raise RuntimeError("over it") from error
    except RuntimeError:
        printed = traceback.format_exc()
    ((first, second),) = read_log(printed).chains
    assert (first.error, first.text, second.error, second.text) == ("KeyError", "'a'", "RuntimeError", "over it")
    assert first.frames[0].path == __file__


@pytest.mark.parametrize(
    ("raw", "text", "level", "stream"),
    [
        ("ERROR:    it broke", "it broke", "ERROR", ""),
        ("2026-01-01 12:00:00,123 - WARN - it broke", "it broke", "WARNING", ""),
        ("Nov 29 12:00:00 server[12]: it broke", "it broke", "", "server[12]:"),
        ("Nov 29 12:00:00 box server[12]:   it broke", "  it broke", "", "box server[12]:"),
        ("2026-01-01T12:00:00.123456789Z stderr F   it broke", "  it broke", "", ""),
        ("web-1  | 12:00:00 INFO it broke", "it broke", "INFO", "web-1  |"),
        ("\x1b[31mit broke\x1b[0m", "it broke", "", ""),
        ("    indented = [1]", "    indented = [1]", "", ""),
    ],
)
def test_prefixes(raw: str, text: str, level: str, stream: str) -> None:
    line = split_prefix(raw)
    assert (line.text, line.level, line.stream) == (text, level, stream)


def test_what_is_no_log() -> None:
    assert not looks_like_log("Error code: 400 - {'detail': 'no'}")
    assert looks_like_log(PREFIX_ON_THE_HEADING)
    assert read_log("") == ServerLog()
    assert read_log(b"\xff\xfe\x00").chains == ()


@given(
    st.lists(
        st.sampled_from(
            [*CHAINED.split("\n"), *TWO_PROCESSES.split("\n"), *GROUP.split("\n"), *GO.split("\n"), "x", "  "]
        )
    )
)
def test_any_mixture_of_lines_is_read(lines: list[str]) -> None:
    log = read_log("\n".join(lines))
    assert all(trace.frames for chain in log.chains for trace in chain)


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    read_log(text)


def test_the_new_part_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text("old\n")
    log = LogFile(path)
    log.mark()
    assert log.new() == ""
    with path.open("a") as file:
        file.write("new\n")
    assert (log.new(), log.end()) == ("new\n", "old\nnew\n")
    path.write_text("n")
    assert log.new() == "n"


def test_only_the_end_of_a_large_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"a" * MAX_BYTES + b"bc")
    assert (len(LogFile(path).end()), LogFile(path).end()[-3:]) == (MAX_BYTES, "abc")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such log file"):
        LogFile(tmp_path / "none.log")
    with pytest.raises(FormatError, match="folder"):
        LogFile(tmp_path)
    with pytest.raises(FormatError):
        LogFile("a\0b")
