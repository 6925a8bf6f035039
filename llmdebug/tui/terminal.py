"""Whether there is a terminal that a screen can be drawn on."""

from __future__ import annotations

import os
import sys


def unusable() -> str:
    """Why the screen cannot be drawn; empty where it can."""
    if not (sys.__stdin__ and sys.__stdin__.isatty() and sys.__stdout__ and sys.__stdout__.isatty()):
        return "the screen needs a terminal; `llmdebug send` and `llmdebug diagnose` do without one."
    if os.environ.get("TERM", "") in ("dumb", "unknown"):
        return (
            f"the terminal says TERM={os.environ['TERM']}, which cannot move its cursor; set TERM to what it is "
            "(xterm-256color, screen), or use `llmdebug send` and `llmdebug diagnose`."
        )
    return ""
