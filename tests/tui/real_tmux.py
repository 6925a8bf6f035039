"""A real tmux: the app as people run it, its screen and its buffers."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

PATIENCE_S = 40.0

WHY_NOT = "" if shutil.which("tmux") else "tmux is not installed"


class Tmux:
    """A server of its own with one window; a context manager."""

    def __init__(self, command: str, *, width: int = 80, height: int = 24, term: str = "screen", **environment: str):
        self._folder = Path(tempfile.mkdtemp(prefix="llmdebug-tmux-"))
        self._socket = str(self._folder / "socket")
        self._command = command
        self._size = (width, height)
        self._term = term
        self._environment = environment

    def __enter__(self) -> Tmux:
        settings = self._folder / "tmux.conf"
        settings.write_text(f"set -g default-terminal {self._term}\nset -s escape-time 0\n", encoding="utf-8")
        environment = {**os.environ, "SHELL": "/bin/sh", **self._environment}
        for name in ("TMUX", "COLORTERM", "NO_COLOR", "COLUMNS", "LINES"):
            environment.pop(name, None)
        width, height = map(str, self._size)
        window = ["new-session", "-d", "-x", width, "-y", height, f"{self._command}; printf 'ended %s' $?; sleep 600"]
        subprocess.run(["tmux", "-S", self._socket, "-f", settings, *window], env=environment, check=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], check=False, capture_output=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, *words: str) -> str:
        done = subprocess.run(["tmux", "-S", self._socket, *words], check=True, capture_output=True)
        return done.stdout.decode("utf-8", "replace")

    def screen(self) -> str:
        return self.run("capture-pane", "-p")

    def keys(self, *names: str) -> None:
        """Keys as tmux names them, each typed by itself."""
        for name in names:
            self.run("send-keys", name)

    def type(self, text: str) -> None:
        self.run("send-keys", "-l", text)

    def until(self, condition: Callable[[str], bool]) -> str:
        """The screen once it is as asked; shows it where that does not come."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            screen = self.screen()
            if condition(screen):
                return screen
            time.sleep(0.02)
        raise AssertionError("this did not happen; the screen shows:\n" + self.screen())

    def shows(self, text: str) -> str:
        return self.until(lambda screen: text in screen)

    def pid(self) -> int:
        """Of the shell that runs the app."""
        return int(self.run("list-panes", "-F", "#{pane_pid}"))
