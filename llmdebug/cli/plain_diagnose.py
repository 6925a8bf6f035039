"""`diagnose FILE… --source TREE --json`, the line that programs run, read without Typer's start-up time."""

from __future__ import annotations

from collections.abc import Sequence


def plain_diagnose(words: Sequence[str]) -> int | None:
    """The exit code; None for a command line that says anything else, which is then Typer's to read."""
    files: list[str] = []
    sources: list[str] = []
    as_json = False
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--json":
            as_json = True
        elif word == "--source" and left and not left[0].startswith("-"):
            sources.append(left.pop(0))
        elif word.startswith("--source=") and word != "--source=":
            sources.append(word.removeprefix("--source="))
        elif word == "-" or (word and not word.startswith("-")):
            files.append(word)
        else:
            return None
    if not files or not as_json:
        return None
    from llmdebug.cli.diagnosing import diagnose_files

    return diagnose_files(files, sources, as_json=True)
