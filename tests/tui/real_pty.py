"""The app on a pseudo-terminal: how many bytes it writes, how much memory it takes, how soon it answers."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from pathlib import Path
from types import TracebackType

ANSWERS = (
    (re.compile(rb"\x1b\[\?(\d+)\$p"), lambda m: b"\x1b[?" + m[1] + (b";2$y" if m[1] == b"2026" else b";0$y")),
    (re.compile(rb"\x1b\[6n"), lambda _m: b"\x1b[1;1R"),
    (re.compile(rb"\x1b\[>?0?c"), lambda _m: b"\x1b[?62;22c"),
)
QUIET_S = 0.4


class Pty:
    """A command on a terminal of its own; a context manager."""

    def __init__(self, *command: str, width: int = 80, height: int = 24, **environment: str) -> None:
        self._command = command
        self._size = (height, width)
        self._environment = {"TERM": "xterm-256color", "COLORTERM": "truecolor", **environment}
        self.written = b""

    def __enter__(self) -> Pty:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *self._size, 0, 0))
            os.execvpe(self._command[0], self._command, {**os.environ, **self._environment})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)

    def read(self, seconds: float) -> bytes:
        """What it writes next, within this time; empty where it writes nothing."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return b""
        try:
            data = os.read(self.fd, 1 << 20)
        except OSError:
            return b""
        for pattern, reply in ANSWERS:
            for match in pattern.finditer(data):
                os.write(self.fd, reply(match))
        self.written += data
        return data

    def until_quiet(self, limit: float = 30.0) -> int:
        """Bytes written until it fell quiet, no thread of it being at work."""
        before, end = len(self.written), time.monotonic() + limit
        while time.monotonic() < end:
            if not self.read(QUIET_S) and len(self.written) > before and not self._busy():
                break
        return len(self.written) - before

    def until(self, wanted: bytes, limit: float = 40.0) -> float:
        """Seconds until it has written this."""
        began, start = time.monotonic(), len(self.written)
        while wanted not in self.written[start:]:
            assert time.monotonic() - began < limit, self.written[start:]
            self.read(0.02)
        return time.monotonic() - began

    def press(self, keys: str) -> int:
        """Types keys; gives the bytes it answers with until quiet."""
        before = len(self.written)
        os.write(self.fd, keys.encode())
        end = time.monotonic() + 5
        while time.monotonic() < end and (self.read(QUIET_S) or self._busy() or len(self.written) == before):
            continue
        return len(self.written) - before

    def memory_mb(self) -> float:
        fields = Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def peak_mb(self) -> float:
        """The most memory that it ever had."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    def _busy(self) -> bool:
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            try:
                if (task / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] in "RD":
                    return True
            except OSError:
                continue
        return False
