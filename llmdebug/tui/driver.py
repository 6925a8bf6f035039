"""The terminal driver that writes only what changes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from io import TextIOWrapper
from typing import IO, Any, cast

from textual.drivers.linux_driver import LinuxDriver

from llmdebug.tui.frame import Frame


class Terminal:
    """The file that Textual's thread writes to; it outlives the terminal, or the thread would die and be waited for."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._gone = False

    def fileno(self) -> int:
        return self._file.fileno()

    def isatty(self) -> bool:
        return self._file.isatty()

    def write(self, text: str) -> None:
        self._carry_out(lambda: self._file.write(text))

    def flush(self) -> None:
        self._carry_out(self._file.flush)

    def _carry_out(self, act: Callable[[], object]) -> None:
        if self._gone:
            return
        try:
            act()
        except OSError:
            self._gone = True
            os.kill(os.getpid(), signal.SIGHUP)


class LeanDriver(LinuxDriver):
    """Textual's own, its output reduced by a Frame."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._file = cast("TextIOWrapper", Terminal(cast("IO[str]", self._file)))
        self._frame = Frame()

    def write(self, data: str) -> None:
        reduced = self._frame.reduced(data)
        if reduced:
            super().write(reduced)

    def forget(self) -> None:
        """What the terminal shows is not known any more; the next paint is whole."""
        self._frame.forget()

    def start_application_mode(self) -> None:
        self.forget()
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def stop_application_mode(self) -> None:
        super().write("\x1b[m")
        self.forget()
        super().stop_application_mode()
