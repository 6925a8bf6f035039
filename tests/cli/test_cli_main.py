from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import run, start

import llmdebug
from llmdebug.cli import screen
from llmdebug.cli.exit_codes import EPILOG, ExitCode
from llmdebug.cli.main import COMMANDS, application
from llmdebug.cli.plain import run_plain, taken_apart
from llmdebug.config.settings import Settings
from llmdebug.demo.server import REQUESTS, DemoServer

README = (Path(llmdebug.__file__).parent.parent / "README.md").read_text()


async def test_the_version() -> None:
    done = await run("--version")
    assert (done.code, done.out.decode()) == (0, f"llmdebug {llmdebug.__version__}\n")


@pytest.mark.parametrize("command", ["", *COMMANDS])
async def test_help_tells_options_and_exit_codes(command: str) -> None:
    done = await run(*([command] if command else []), "--help")
    told = " ".join(done.out.decode().split())
    assert done.code == 0
    assert EPILOG in told
    assert "Options:" in told
    assert command or all(name in told for name in COMMANDS)


def test_every_exit_code_is_documented() -> None:
    for code in ExitCode:
        assert re.search(rf"\b{code.value} ", EPILOG)
        assert f"| {code.value} |" in README


def test_readme_names_every_command_and_only_options_that_exist() -> None:
    helps = {
        name: subprocess.run(
            [sys.executable, "-m", "llmdebug", name, "--help"], capture_output=True, text=True, check=True
        ).stdout
        for name in COMMANDS
    }
    for name in COMMANDS:
        assert f"llmdebug {name}" in README
    known = set(re.findall(r"--[a-z-]+", "".join(helps.values()))) | {"--version", "--install-completion"}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", README)) <= known


async def test_no_words_show_the_help() -> None:
    done = await run()
    assert done.code == 2
    assert "Commands:" in done.out.decode() + done.err


async def test_a_misspelt_command() -> None:
    done = await run("sned")
    assert done.code == 2
    assert done.says("sned")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_shell_completion(shell: str) -> None:
    done = await run("--show-completion", shell)
    if done.code == 2:
        done = await run(env={"_LLMDEBUG_COMPLETE": f"source_{shell}"})
    assert done.code == 0
    assert b"llmdebug" in done.out


@pytest.mark.parametrize("words", [["http://h:1"], ["open", "http://h:1"], ["open", "--insecure", "http://h:1"]])
async def test_the_screen_says_that_it_needs_a_terminal(words: list[str]) -> None:
    done = await run(*words)
    assert done.code == 2
    assert done.says("the screen needs a terminal")


async def test_the_cache_is_shown_and_cleared(tmp_path: Path) -> None:
    folder = tmp_path / "indexes"
    place = {"LLMDEBUG_CACHE_DIR": str(folder)}
    empty = await run("cache", env=place)
    assert empty.out.decode() == f"{folder}\n0 indexes, 0 bytes\n"
    folder.mkdir()
    (folder / "a.index").write_bytes(b"x" * 2000)
    assert (await run("cache", env=place)).out.decode() == f"{folder}\n1 indexes, 2,000 bytes\n"
    cleared = await run("cache", "--clear", env=place)
    assert (cleared.code, cleared.out.decode()) == (0, "removed 1 indexes, 2,000 bytes\n")
    assert list(folder.iterdir()) == []


INTERRUPTED_WHILE_LOADING = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == "llmdebug.cli.guard":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from llmdebug.__main__ import run

run()
"""


def test_an_interrupt_while_it_is_loaded_ends_it_without_a_word() -> None:
    words = [sys.executable, "-c", INTERRUPTED_WHILE_LOADING, "--version"]
    done = subprocess.run(words, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_the_demo_serves_until_a_signal(number: signal.Signals) -> None:
    process = await start("demo", "--serve")
    assert process.stdout is not None and process.stderr is not None
    base_url = (await process.stdout.readline()).decode().strip()
    source = Path((await process.stdout.readline()).decode().strip())

    def models() -> object:
        with urllib.request.urlopen(f"{base_url}/v1/models", timeout=10) as answer:
            return json.load(answer)["object"]

    assert await asyncio.to_thread(models) == "list"
    assert (source / "protocol.py").is_file()
    process.send_signal(number)
    assert await process.wait() == 0
    assert await process.stderr.read() == b""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--serve", "--check"], "exclude each other"),
        (["--port", "8000"], "--port is for --serve"),
        (["--serve", "--port", "70000"], "--port"),
    ],
)
async def test_demo_lines_that_make_no_sense(words: list[str], told: str) -> None:
    done = await run("demo", *words)
    assert done.code == 2
    assert done.says(told)


async def test_a_port_that_is_taken() -> None:
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    done = await run("demo", "--serve", "--port", str(port))
    server.close()
    assert done.code == 2
    assert done.says("already in use")


@pytest.mark.parametrize("words", [["demo"], ["demo", "--check"]])
async def test_the_founding_story(words: list[str]) -> None:
    done = await run(*words)
    shown = done.out.decode()
    assert done.code == 0, done.err
    assert re.search(r"→ 400 Bad Request.*▶     prompt: str.*Remedy 1:.*→ 200 OK.*Confirmed", shown, re.DOTALL)


def on_a_terminal(*words: str, **environment: str) -> str:
    """What a person sees of a command."""
    ours, theirs = pty.openpty()
    known = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    line = [sys.executable, "-m", "llmdebug", *words]
    variables = {**known, "TERM": "xterm-256color", **environment}
    with subprocess.Popen(line, stdin=theirs, stdout=theirs, stderr=theirs, env=variables):
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # Linux tells the end of a terminal so
            while piece := os.read(ours, 65536):
                shown += piece
    os.close(ours)
    return shown.decode()


def test_a_terminal_gets_colours_unless_it_wants_none(nanoserve: DemoServer) -> None:
    words = ["send", f"{REQUESTS}#prompt-token-ids", "--url", nanoserve.base_url, "--source", str(nanoserve.source)]
    coloured = on_a_terminal(*words)
    assert "\x1b[31mblamed\x1b[0m" in coloured
    assert '  "error": {' in coloured
    for plain in (on_a_terminal(*words, NO_COLOR="1"), on_a_terminal(*words, TERM="dumb")):
        assert "blamed  /prompt" in plain
        assert "\x1b[3" not in plain


def test_a_terminal_is_not_steered(tmp_path: Path) -> None:
    file = tmp_path / "r.http"
    file.write_text('POST http://h/\nX-Title: a\n\n{"text": "\x1b]0;gotcha\x07"}')
    assert "␛]0;gotcha␇" in on_a_terminal("send", str(file), "--dry-run")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["diagnose"],
        ["diagnose", "a.har"],
        ["diagnose", "--json"],
        ["diagnose", "a.har", "--json", "--source"],
        ["diagnose", "a.har", "--json", "--source", "--json"],
        ["diagnose", "a.har", "--json", "--status", "400"],
        ["diagnose", "a.har", "--json", "--help"],
        ["demo", "--check"],
        ["open", "a", "b"],
        ["open", "--help"],
        ["open", "--file", "a", "--file", "b"],
        ["open", "--tokenizer"],
        ["send", "a"],
    ],
)
def test_lines_that_are_left_to_typer(words: list[str]) -> None:
    assert run_plain(words) is None


def test_the_screen_s_own_options_are_read_without_typer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As they are with it: what is imported on the way to the first picture is waited for."""
    shown: list[dict[str, Any]] = []

    def show(settings: Settings, **given: Any) -> int:
        shown.append({"record": settings.record, "probe": settings.probe, **given})
        return 0

    monkeypatch.setattr(screen, "show_screen", show)
    words = ["http://a", "--source", "x", "--file", "f", "--tokenizer", "t", "--model", "m", "--no-probe"]
    assert run_plain(["open", *words]) == 0
    with pytest.raises(SystemExit):
        application(["open"])(["open", *words])
    of_typer = {name: shown[1][name] for name in shown[0]}
    assert shown[0] == of_typer
    assert (shown[0]["tokenizer"], shown[0]["model"], shown[0]["probe"], shown[0]["record"]) == ("t", "m", False, True)


def test_a_line_taken_apart() -> None:
    line = taken_apart(["a", "--source", "x", "-", "--json", "--source=y=z"], values=("--source",), flags=("--json",))
    assert line == (["a", "-"], {"--source": ["x", "y=z"]}, {"--json"})


@given(st.lists(st.sampled_from(["--source", "--json", "--source=b", "a", "-", "--x"]) | st.text()))
def test_no_word_is_lost_or_invented(words: list[str]) -> None:
    line = taken_apart(words, values=("--source",), flags=("--json",))
    if line is not None:
        as_one = sum(word.startswith("--source=") for word in words)
        assert "--json" not in words or line.flags == {"--json"}
        assert len(line.words) + words.count("--json") + 2 * len(line.values["--source"]) - as_one == len(words)


async def test_settings_and_where_they_come_from(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('theme = "light"\ntimeout = 5\n')
    place = {"LLMDEBUG_CONFIG": str(file), "LLMDEBUG_TIMEOUT": "7"}
    done = await run("config", env=place)
    lines = done.out.decode().splitlines()
    assert done.code == 0
    assert lines[0] == f"# {file}"
    assert f'theme = "light"  # {file}:1' in lines
    assert "timeout = 7.0  # environment, LLMDEBUG_TIMEOUT" in lines
    assert "connect_timeout = 10.0  # default" in lines


async def test_a_config_file_with_a_mistake(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('theme = "light"\ntimout = 5\n')
    requests = tmp_path / "r.http"
    requests.write_text("GET http://127.0.0.1:1/")
    for words in (["config"], ["send", str(requests)]):
        done = await run(*words, env={"LLMDEBUG_CONFIG": str(file)})
        assert done.code == 2
        assert done.says(f"{file}:2", "timout", "timeout")
