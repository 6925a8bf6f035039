"""A linked source: from how the user names it to the folder that serves as its tree."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from llmdebug.index.build import Progress, silent
from llmdebug.linking import shelf
from llmdebug.linking.installed import version_of
from llmdebug.linking.spec import AUTO, SourceError, Spec, parse_spec
from llmdebug.source.search import never

_SHOWN = 12


class Linked(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that serves as a tree, and whose source it is."""

    folder: str
    name: str
    """As people are told of it."""
    source: str
    """How to link it again: a folder, `pypi:…` or `git:…`."""
    package: str = ""
    """The package of an index or of this machine's environment; empty where that is not known."""
    version: str = ""
    """The version or commit of what lies in the folder; empty where that is not known."""


def at_hand(source: str | Path) -> Linked | None:
    """What needs no network; None for a source that has to be fetched. Raises SourceError for a wrong name."""
    if source == AUTO:
        return None
    spec = parse_spec(source) if isinstance(source, str) else None
    if spec is None:
        path = Path(source).expanduser()
        package, version = version_of(path.absolute())
        return Linked(
            folder=str(path), name=path.absolute().name, source=str(path.absolute()), package=package, version=version
        )
    kept = shelf.kept(spec)
    return _of_shelf(spec, kept) if kept is not None else None


def fetched(source: str | Path, *, progress: Progress = silent, cancelled: Callable[[], bool] = never) -> Linked:
    """As at_hand(), after fetching what has to be. From an event loop, call it in a thread.

    Raises SourceError, Cancelled.
    """
    found = at_hand(source)
    spec = parse_spec(str(source))
    if found is not None:
        return found
    if spec is None:
        raise SourceError(f"{AUTO} asks a running server: give its URL.")
    if spec.scheme == "git":
        from llmdebug.linking.git import fetch_commit

        return _of_shelf(spec, fetch_commit(spec, progress=progress, cancelled=cancelled))
    from llmdebug.linking.package import fetch_package

    return _of_shelf(spec, fetch_package(spec, progress=progress, cancelled=cancelled))


def _of_shelf(spec: Spec, kept: shelf.Kept) -> Linked:
    """Raises SourceError for a folder inside that is not there."""
    folder = shelf.tree_of(spec)
    if not folder.is_dir():
        whole = shelf.tree_of(msgspec.structs.replace(spec, inside=""))
        names = sorted(path.name for path in whole.iterdir() if path.is_dir())
        there = f"its folders are {', '.join(names[:_SHOWN])}{', …' if len(names) > _SHOWN else ''}"
        raise SourceError(f"{spec.shown} has no folder {spec.inside}; {there if names else 'it has none'}.")
    return Linked(
        folder=str(folder),
        name=str(spec),
        source=str(spec),
        package=spec.name if spec.scheme == "pypi" else "",
        version=kept.version,
    )
