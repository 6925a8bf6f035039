"""A program that has the terminal to itself for a while, and the signals that come meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from textual.app import App

OF_THE_CHILD = (signal.SIGINT, signal.SIGQUIT)
"""Sent by keys to everybody on the terminal; they mean the program that runs there."""
ENDING = (signal.SIGHUP, signal.SIGTERM)


class HungUpError(Exception):
    """llmdebug was asked to end while the program ran; the program is left to itself."""


def run_in_foreground(app: App[int], arguments: Sequence[str]) -> int:
    """The program's exit status, negative where a signal ended it. Raises OSError, HungUpError."""
    from textual.app import SuspendNotSupported

    try:
        with app.suspend():
            return _run(arguments)
    except SuspendNotSupported:
        return subprocess.run(arguments, check=False, stdin=subprocess.DEVNULL, capture_output=True).returncode


def _run(arguments: Sequence[str]) -> int:
    with _signals():
        return subprocess.Popen(arguments).wait()


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """Handlers, and not SIG_IGN, which the program would inherit.

    The event loop hears of the ending signals, too, once it runs again, and ends the app then.
    """
    before = {number: signal.signal(number, _pass_over) for number in OF_THE_CHILD}
    before |= {number: signal.signal(number, _end) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


def _pass_over(_number: int, _frame: FrameType | None) -> None:
    """Not ours."""


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise HungUpError(signal.Signals(number).name)


def ended(program: str, status: int) -> str:
    """How a program ended that did not end well."""
    name = os.path.basename(program)
    if status >= 0:
        return f"{name} ended with status {status}"
    try:
        return f"{name} was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"{name} was ended by signal {-status}"
