"""`llmdebug cache`."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all of it; it is made anew when needed.")] = False,
) -> int:
    """Show where indexes of source trees are kept, and how large they are."""
    from llmdebug.cli.exit_codes import ExitCode
    from llmdebug.index import store

    if clear:
        count, size = store.clear()
        print(f"removed {count} indexes, {size:,} bytes")
        return ExitCode.OK
    folder = store.cache_folder()
    try:
        sizes = [path.stat().st_size for path in folder.iterdir() if path.is_file()]
    except FileNotFoundError:
        sizes = []
    print(folder)
    print(f"{len(sizes)} indexes, {sum(sizes):,} bytes")
    return ExitCode.OK
