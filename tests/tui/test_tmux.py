"""The founding story in a real tmux, by keys alone; an editor, a copy, a hang-up."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from real_tmux import WHY_NOT, Tmux

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

LLMDEBUG = f"{shlex.quote(sys.executable)} -m llmdebug"


@pytest.mark.parametrize(("width", "height", "term"), [(80, 24, "screen"), (120, 40, "screen-256color")])
def test_the_founding_story(width: int, height: int, term: str, own_state: Path, tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    editor = tmp_path / "vim"
    editor.write_text(f'#!/bin/sh\necho "$@" > {noted}\nexec sleep 0.2\n', encoding="utf-8")
    editor.chmod(0o755)
    with Tmux(f"{LLMDEBUG} demo", width=width, height=height, term=term, EDITOR=str(editor)) as tmux:
        tmux.shows("prompt_token_ids")
        tmux.shows("source nanoserve")
        tmux.keys("s")
        tmux.shows("400 Bad Request")
        screen = tmux.shows("declares CompletionRequest.prompt")
        assert "▶     prompt: str | list[str]" in screen
        assert '?   "prompt_token_ids"' in screen
        tmux.keys("o")
        tmux.until(lambda _screen: noted.exists() and noted.read_text(encoding="utf-8").endswith("\n"))
        line, file = noted.read_text(encoding="utf-8").split()
        assert file.endswith("nanoserve/protocol.py")
        source = Path(file).read_text(encoding="utf-8").split("\n")
        assert source[int(line.removeprefix("+")) - 1].strip().startswith("prompt: str")
        tmux.shows("declares CompletionRequest.prompt")
        tmux.keys("y", "p")
        tmux.shows("tmux's buffer")
        assert tmux.run("show-buffer") == f"{file}:{line.removeprefix('+')}"
        tmux.keys("1")
        tmux.shows('"prompt": [')
        tmux.keys("s")
        tmux.shows("200 OK")
        tmux.shows("Confirmed by experiment")
        tmux.keys("q")
        tmux.shows("ended 0")


def test_copying_a_body_and_curl(own_state: Path) -> None:
    with Tmux(f"{LLMDEBUG} demo") as tmux:
        tmux.shows("source nanoserve")
        tmux.keys("y", "c")
        tmux.shows("tmux's buffer")
        copied = tmux.run("show-buffer")
        assert copied.startswith("curl -sS http://127.0.0.1:")
        done = subprocess.run(["sh", "-c", copied], capture_output=True, check=True)
        assert b"validation error" in done.stdout


def test_a_bracketed_paste_is_a_request(own_state: Path) -> None:
    with Tmux(f"{LLMDEBUG} http://127.0.0.1:9") as tmux:
        tmux.shows("POST /v1/chat/completions")
        tmux.run("set-buffer", "curl http://127.0.0.1:9/v1/x -d '{\"a\": 1}'")
        tmux.run("paste-buffer", "-p")
        tmux.shows("POST /v1/x")


def test_a_hang_up_in_the_middle_of_an_edit_keeps_it(own_state: Path) -> None:
    with Tmux(f"{LLMDEBUG} http://127.0.0.1:9") as tmux:
        tmux.shows("POST /v1/chat/completions")
        tmux.shows("refused")
        tmux.keys("e")
        tmux.shows("Esc done")
        tmux.type("half an edit")
        tmux.shows("half an edit")
        child = int(Path(f"/proc/{tmux.pid()}/task/{tmux.pid()}/children").read_text(encoding="utf-8").split()[0])
        os.kill(child, signal.SIGHUP)
        tmux.shows("ended 129")
    with Tmux(f"{LLMDEBUG} http://127.0.0.1:9") as tmux:
        tmux.shows("An unsent edit")
        tmux.keys("U")
        tmux.shows("half an edit")


def editor_of(folder: Path, script: str) -> Path:
    """An editor that is a shell script."""
    editor = folder / "editor"
    editor.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    editor.chmod(0o755)
    return editor


def test_ctrl_c_in_an_editor_ends_the_editor_alone(own_state: Path, tmp_path: Path) -> None:
    editor = editor_of(tmp_path, "echo editing; exec sleep 1000")
    with Tmux(f"bash --norc -ic '{LLMDEBUG} demo; echo left $?; sleep 600'", EDITOR=str(editor)) as tmux:
        tmux.shows("source nanoserve")
        tmux.keys("s")
        tmux.shows("declares CompletionRequest.prompt")
        for key, name in (("C-c", "SIGINT"), ("C-\\", "SIGQUIT")):
            tmux.keys("o")
            tmux.shows("editing")
            tmux.keys(key)
            tmux.shows(f"editor was ended by {name}.")
            tmux.shows("declares CompletionRequest.prompt")
        tmux.keys("q")
        tmux.shows("left 0")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_an_end_during_an_outside_edit_keeps_its_text(number: int, own_state: Path, tmp_path: Path) -> None:
    editor = editor_of(
        tmp_path,
        'printf \'POST /v1/completions\\n\\n{"prompt": "half an edit"}\' > "$1"; echo editing; exec sleep 1000',
    )
    with Tmux(f"{LLMDEBUG} http://127.0.0.1:9", EDITOR=str(editor)) as tmux:
        tmux.shows("POST /v1/chat/completions")
        tmux.shows("refused")
        tmux.keys("E")
        tmux.shows("editing")
        child = int(Path(f"/proc/{tmux.pid()}/task/{tmux.pid()}/children").read_text(encoding="utf-8").split()[0])
        os.kill(child, number)
        tmux.shows(f"ended {128 + number}")
    with Tmux(f"{LLMDEBUG} http://127.0.0.1:9") as tmux:
        tmux.shows("An unsent edit")
        tmux.keys("U")
        tmux.shows("half an edit")


def test_without_its_terminal_the_app_ends(own_state: Path) -> None:
    with Tmux(f"{LLMDEBUG} demo") as tmux:
        tmux.shows("? more")
        shell = tmux.pid()
        child = int(Path(f"/proc/{shell}/task/{shell}/children").read_text(encoding="utf-8").split()[0])
        tmux.keys("s")
        tmux.run("kill-server")
        end = time.monotonic() + 20
        while is_running(child) and time.monotonic() < end:
            time.sleep(0.02)
        assert not is_running(child)


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_after_the_shell_and_after_a_mess_the_screen_is_whole(own_state: Path) -> None:
    with Tmux(f"bash --norc -ic '{LLMDEBUG} demo; fg; true'") as tmux:
        whole = tmux.shows("? more")
        terminal = Path(tmux.run("list-panes", "-F", "#{pane_tty}").strip())
        terminal.write_text("\x1b[12;50Hbefore the shell", encoding="utf-8")
        tmux.shows("before the shell")
        tmux.keys("C-z")
        tmux.until(lambda screen: "before the shell" not in screen and "? more" in screen)
        terminal.write_text("\x1b[1;1Hmess\x1b[5;5Hmess", encoding="utf-8")
        tmux.shows("mess")
        tmux.keys("C-l")
        assert tmux.until(lambda screen: "mess" not in screen) == whole


def test_idle_writes_nothing(own_state: Path) -> None:
    with Tmux(f"{LLMDEBUG} demo") as tmux:
        tmux.shows("source nanoserve")
        tmux.keys("s")
        tmux.shows("Diagnosis  missing_field")
        child = int(Path(f"/proc/{tmux.pid()}/task/{tmux.pid()}/children").read_text(encoding="utf-8").split()[0])
        quiet_since, before = time.monotonic(), written(child)
        end = time.monotonic() + 30
        while time.monotonic() - quiet_since < 2:
            assert time.monotonic() < end, "it never falls silent"
            time.sleep(0.05)
            if written(child) != before:
                quiet_since, before = time.monotonic(), written(child)


def written(pid: int) -> int:
    """Bytes that a process has written."""
    fields = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text(encoding="utf-8").splitlines())
    return int(fields["wchar"])


@pytest.mark.parametrize("command", [f"TERM=dumb {LLMDEBUG} demo", f"TERM=dumb {LLMDEBUG} http://127.0.0.1:9"])
def test_a_dumb_terminal_gets_words(command: str, own_state: Path) -> None:
    with Tmux(command, height=50, width=120) as tmux:
        screen = tmux.until(lambda shown: "ended" in shown)
        assert "\x1b" not in screen
        assert "Traceback" not in screen
        if "127.0.0.1:9" in command:
            assert "TERM=dumb" in screen


def test_the_smallest_terminal(own_state: Path) -> None:
    with Tmux(f"{LLMDEBUG} demo", width=40, height=10) as tmux:
        tmux.shows("prompt_token_ids")
        tmux.keys("s", "Tab")
        tmux.shows("400 Bad Request")
        tmux.keys("Tab")
        tmux.shows("protocol.py:")
        tmux.keys("q")
        tmux.shows("ended 0")
