"""The terminal driver that writes only what changes."""

from __future__ import annotations

from typing import Any

from textual.drivers.linux_driver import LinuxDriver

from llmdebug.tui.frame import Frame


class LeanDriver(LinuxDriver):
    """Textual's own, its output reduced by a Frame."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
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
