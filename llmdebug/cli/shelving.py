"""What `sources` does."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from llmdebug.cli.exit_codes import ExitCode
from llmdebug.cli.guard import CommandError
from llmdebug.cli.json_line import print_json
from llmdebug.cli.progress import progress_line
from llmdebug.cli.talk import say, tell
from llmdebug.debugger.sources import remembered
from llmdebug.debugger.trees import LinkedTrees
from llmdebug.debugger.visible import visible
from llmdebug.http.baseurl import is_absolute
from llmdebug.linking import shelf
from llmdebug.linking.linked import at_hand, fetched
from llmdebug.linking.spec import SourceError, Spec, parse_spec

_DAMAGES_SHOWN = 20


class SourceJson(msgspec.Struct, frozen=True, kw_only=True):
    """What `sources --json` prints of each source, on a line."""

    folder: str
    """The folder that serves as its tree."""
    source: shelf.Kept


def show(given: Sequence[str], *, as_json: bool) -> int:
    if given:
        raise CommandError("`llmdebug sources list` takes no source.")
    found = shelf.all_kept()
    if not found:
        tell(f"No source is kept in {shelf.shelf_folder()}; `llmdebug sources add pypi:NAME==VERSION` fetches one.")
    for place, kept in found:
        _print(place / "tree", kept, as_json=as_json)
    return ExitCode.OK


def add(given: Sequence[str], *, as_json: bool) -> int:
    """Fetches what is not at hand, and says where nothing of a server is in it."""
    for spec in _specs(given, "add"):
        with progress_line() as progress:
            link = fetched(str(spec), progress=progress)
            defects = LinkedTrees([link]).defects(progress=progress)
        kept = shelf.kept(spec)
        if kept is not None:
            _print(Path(link.folder), kept, as_json=as_json)
        for defect in defects:
            say(f"{defect}.")
    return ExitCode.OK


def remove(given: Sequence[str]) -> int:
    for spec in _specs(given, "remove"):
        shelf.remove(spec)
        tell(f"removed {spec}")
    return ExitCode.OK


def verify(given: Sequence[str]) -> int:
    """Exit code USAGE where one is not as it was fetched."""
    kept = [spec for _, found in shelf.all_kept() if (spec := parse_spec(found.spec))]
    code = ExitCode.OK
    for spec in _specs(given, "verify") if given else kept:
        damage = shelf.damage(spec)
        if not damage:
            at_hand(str(spec))
        for sentence in damage[:_DAMAGES_SHOWN]:
            say(f"{spec}: {sentence}")
        if damage:
            say(f"{spec} is not as it was fetched: `llmdebug sources remove {spec}`, then add it again.")
            code = ExitCode.USAGE
        else:
            print(visible(f"{spec}: as it was fetched"))
    return code


def which(given: Sequence[str], *, as_json: bool) -> int:
    """The sources that are linked to a server, nearest first."""
    if len(given) != 1 or not is_absolute(given[0]):
        raise CommandError("Name one server: `llmdebug sources which URL`.")
    found = remembered(given[0])
    if not found:
        tell(f"No source is linked to {given[0]}.")
    for source in found:
        if as_json:
            print_json({"source": source})
        else:
            print(visible(source))
    return ExitCode.OK


def _specs(given: Sequence[str], action: str) -> list[Spec]:
    if not given:
        raise CommandError(f"Name a source: `llmdebug sources {action} pypi:NAME==VERSION`.")
    found = [parse_spec(text) for text in given]
    for text, spec in zip(given, found, strict=True):
        if spec is None:
            raise SourceError(f"{text} is neither pypi:NAME==VERSION nor git:URL@TAG; a folder is given to --source.")
    return [spec for spec in found if spec is not None]


def _print(folder: Path, kept: shelf.Kept, *, as_json: bool) -> None:
    if as_json:
        print_json(SourceJson(folder=str(folder), source=kept))
        return
    when = time.strftime("%Y-%m-%d", time.localtime(kept.fetched_at))
    left = f", {kept.left_out} links or too large files left out" if kept.left_out else ""
    print(visible(f"{kept.spec}  {kept.count:,} files, {kept.size / 1e6:,.1f} MB{left}, fetched {when}"))
    print(visible(f"  from {kept.origin}\n  checked: {kept.checked}\n  {folder}"))
