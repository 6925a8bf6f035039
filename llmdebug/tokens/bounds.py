"""What one order may take of the machine, memory and time. In the worker's process only: the limits are its own."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

TO_LOAD = 4 * 2**30
"""Bytes beside what the process has, for reading a tokenizer: one of 250,000 entries takes 0.3 GB."""
TO_READ = 4 * 2**30
"""Bytes for turning the longest text into ids."""
TO_RENDER = 512 * 2**20
"""Bytes for a chat template and the text it makes."""
AGAIN_S = 0.5
"""How often one that goes on is stopped: libraries swallow exceptions in places."""


class OutOfTime(Exception):
    """Raised wherever the code happens to be; an Exception, so that jinja2 tells the template's line."""


@contextmanager
def memory(beyond: int) -> Iterator[None]:
    """At most so many bytes of address space more than now: then Python raises MemoryError, and Rust ends."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _size() + beyond
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _size() -> int:
    """The address space of this process, in bytes."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


@contextmanager
def time(seconds: float) -> Iterator[None]:
    """At most so long; then OutOfTime is raised. In the main thread only; a single call into C ends first."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
