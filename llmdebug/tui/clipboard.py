"""Copying, from wherever the terminal is: through tmux, by the terminal itself, or into a file; it says which.

OSC 52 reaches the terminal over any number of SSH hops, but nothing answers: so tmux is asked first, which
does, and a text too long for terminals goes into a file.
"""

from __future__ import annotations

import base64
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

OSC52_BYTES = 74_000
"""What the more careful terminals still take, encoded."""
TMUX_SECONDS = 5.0


def copy(text: str, *, environment: Mapping[str, str], write: Callable[[str], None], folder: Path) -> str:
    """Copies a text; gives a sentence that says where it went. `write` sends to the terminal."""
    data = text.encode("utf-8", "replace")
    told = ""
    if environment.get("TMUX"):
        told = _into_tmux(data)
        if not told:
            return "in tmux's buffer, and in the clipboard where the terminal lets tmux set it"
    encoded = base64.b64encode(data).decode("ascii")
    if len(encoded) <= OSC52_BYTES and _takes_osc52(environment):
        write(f"\x1b]52;c;{encoded}\x07")
        return "sent to the terminal's clipboard (OSC 52); some terminals have that turned off"
    return _into_file(data, folder, told or "the terminal takes no text that long")


def _takes_osc52(environment: Mapping[str, str]) -> bool:
    """The Linux console and the oldest terminals print it, or ignore it."""
    term = environment.get("TERM", "")
    return bool(term) and not term.startswith(("linux", "vt", "dumb", "ansi", "cons"))


def _into_tmux(data: bytes) -> str:
    """Why tmux did not take it; empty where it did. `-w` also sets the clipboard, in tmux 3.2 and later."""
    told = ""
    for arguments in (["tmux", "load-buffer", "-w", "-"], ["tmux", "load-buffer", "-"]):
        try:
            done = subprocess.run(arguments, input=data, capture_output=True, timeout=TMUX_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"tmux did not take it ({type(error).__name__})"
        if done.returncode == 0:
            return ""
        told = "tmux did not take it: " + done.stderr.decode("utf-8", "replace").strip()
    return told


def _into_file(data: bytes, folder: Path, why: str) -> str:
    for place in (folder, Path(tempfile.gettempdir())):
        path = place / "copied.txt"
        try:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
            if place is not folder:
                number, name = tempfile.mkstemp(prefix="llmdebug-copied-", suffix=".txt")
                path = Path(name)
            else:
                number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(number, "wb") as file:
                file.write(data)
        except OSError:
            continue
        return f"in the file {path}: {why}"
    return f"nowhere: {why}, and no file could be written"
