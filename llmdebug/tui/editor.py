"""The user's own editor: which one it is, how it is told a line, and what it made of a text."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from llmdebug.tui.foreground import HungUpError, ended

PLUS_LINE = frozenset(
    {
        "vi",
        "vim",
        "nvim",
        "view",
        "gvim",
        "nano",
        "pico",
        "emacs",
        "emacsclient",
        "xemacs",
        "zile",
        "mg",
        "jed",
        "joe",
        "jmacs",
        "ne",
        "kak",
        "gedit",
        "ee",
        "nvi",
        "tilde",
        "mcedit",
    }
)
"""Editors that take `+LINE FILE`."""
COLON_LINE = frozenset({"hx", "helix", "micro", "subl", "zed", "zeditor", "lapce", "amp", "cursor-cli"})
"""Editors that take `FILE:LINE`."""
GOTO = frozenset({"code", "code-insiders", "codium", "vscodium", "cursor", "windsurf", "positron", "code-server"})
"""Editors that take `--goto FILE:LINE`, and `--wait` where they would return at once."""
IN_TERMINAL = ("nvim", "vim", "vi", "nano", "hx", "micro", "emacs", "ee")
"""Looked for, in this order, where neither $VISUAL nor $EDITOR is set."""

Run = Callable[[Sequence[str]], int]
"""Runs a command with the terminal to itself; gives its exit status. Raises OSError, HungUpError."""


class NoEditorError(Exception):
    """There is no editor to run; the text is a sentence for the user."""


def editor_words(environment: Mapping[str, str], configured: str = "") -> list[str]:
    """The editor's command line. Raises NoEditorError."""
    for source, written in (
        ("the setting editor", configured),
        ("$VISUAL", environment.get("VISUAL", "")),
        ("$EDITOR", environment.get("EDITOR", "")),
    ):
        if not written.strip():
            continue
        try:
            words = shlex.split(written)
        except ValueError as error:
            raise NoEditorError(f"{source} cannot be read as a command ({error}): {written}") from None
        if words and shutil.which(words[0], path=environment.get("PATH")):
            return words
        raise NoEditorError(f"{source} names {words[0] if words else written!r}, which is not installed here.")
    found = next((name for name in IN_TERMINAL if shutil.which(name, path=environment.get("PATH"))), "")
    if not found:
        raise NoEditorError("There is no editor here: set VISUAL or EDITOR.")
    return [found]


def editor_arguments(words: Sequence[str], path: str, line: int, *, wait: bool = False) -> list[str]:
    """The command that opens a file at a line; `wait` where its end must mean that the text is done."""
    name = os.path.basename(words[0]).removesuffix(".exe")
    given = list(words)
    if any("{file}" in word for word in given):
        return [word.replace("{file}", path).replace("{line}", str(line)) for word in given]
    if name in GOTO:
        waiting = ["--wait"] if wait and "--wait" not in given and "-w" not in given else []
        return [*given, *waiting, "--goto", f"{path}:{line}"]
    if name in ("emacs", "xemacs") and not os.environ.get("DISPLAY") and "-nw" not in given:
        given.append("-nw")
    if name == "emacsclient" and not {"-t", "-nw", "-c", "--tty"} & set(given):
        given.append("-t")
    if name in COLON_LINE:
        waiting = ["--wait"] if wait and name in ("subl", "zed", "zeditor") and "--wait" not in given else []
        return [*given, *waiting, f"{path}:{line}"]
    if name in PLUS_LINE:
        return [*given, f"+{line}", path]
    return [*given, path]


def edited_text(text: str, line: int, run: Run, configured: str = "") -> tuple[str | None, str]:
    """What the user's editor made of a text (None: nothing), and what is to be told.

    An edit whose editor failed is kept in a file, which is named. Where llmdebug is asked to end meanwhile, the
    file is read as the editor has left it so far, and stays: the editor may go on writing.
    """
    try:
        words = editor_words(os.environ, configured)
    except NoEditorError as error:
        return None, str(error)
    number, name = tempfile.mkstemp(prefix="llmdebug-", suffix=".http")
    path = Path(name)
    keep = False
    try:
        with os.fdopen(number, "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
        status = run(editor_arguments(words, name, line, wait=True))
        changed = path.read_bytes().decode("utf-8", "surrogatepass")
        if status != 0:
            keep = changed != text
            kept = f" Its text is in {name}." if keep else ""
            return None, f"{ended(words[0], status)}: the request stays as it was.{kept}"
        return changed.removesuffix("\n") if not text.endswith("\n") else changed, ""
    except HungUpError:
        keep = True
        with contextlib.suppress(OSError, UnicodeDecodeError):
            return path.read_bytes().decode("utf-8", "surrogatepass").removesuffix("\n"), ""
        return None, ""
    except (OSError, UnicodeDecodeError) as error:
        return None, f"{words[0]} could not be used: {error}. The request stays as it was."
    finally:
        if not keep:
            path.unlink(missing_ok=True)
