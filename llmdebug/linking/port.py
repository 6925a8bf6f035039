"""From a URL's port to the folder of the server's package: the process that listens, and its environment.

Linux only. What cannot be seen for want of rights, or lies behind a forwarder, is told in a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from llmdebug.families.family import SourceOf
from llmdebug.linking.forwarders import container_of, forwards
from llmdebug.linking.installed import command_module, module_folder, version_of
from llmdebug.linking.linked import Linked
from llmdebug.linking.listening import Listeners, by_command_line, elsewhere, listeners
from llmdebug.linking.process import Running, import_folders, is_python, running, site_folders, starter
from llmdebug.linking.spec import AUTO, SourceError

RUNNERS = frozenset({"uvicorn", "gunicorn", "hypercorn", "granian", "fastapi", "daphne"})
"""Programs that serve an application which their command line names."""
_APPLICATION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*(?:\(\))?")
_VALUED = frozenset({"-W", "-X", "--check-hash-based-pycs"})
"""Options of the interpreter with a value of their own."""


def source_at_port(base_url: str, source: SourceOf | None = None) -> Linked:
    """The folder of the package that serves there; `source` is what is known of the server's family.

    Raises SourceError with what stands in the way.
    """
    try:
        found = listeners(base_url)
    except SourceError as error:
        port = re.search(r"port (\d+)", str(error))
        pids = elsewhere(int(port[1])) if port else ()
        if not pids:
            raise
        return _of_any(pids, source)
    if not found.pids:
        return _without_rights(found, source)
    first = running(found.pids[0])
    container = container_of(first)
    if container is not None:
        inside = elsewhere(container[1], container[0])
        if not inside:
            raise SourceError(
                f"Port {found.port} leads into the container {container[0]}, whose processes llmdebug may not see: "
                "run it as root, or inside the container."
            )
        return _of_any(inside, source)
    forwarder = forwards(first, found.port)
    if forwarder:
        raise SourceError(
            f"Port {found.port} is held by {forwarder}: the server is not this process. Run llmdebug where the server "
            "runs, or name its source."
        )
    return _of_any(found.pids, source)


def _of_any(pids: Sequence[int], source: SourceOf | None) -> Linked:
    """What the first of these processes runs of which that can be told."""
    problem: SourceError | None = None
    for pid in pids:
        try:
            return _of_process(starter(running(pid)), source)
        except SourceError as error:
            problem = problem or error
    raise problem or SourceError("No process listens there.")


def _without_rights(found: Listeners, source: SourceOf | None) -> Linked:
    """A guess by the command line, which everybody may read."""
    hidden = SourceError(
        f"Port {found.port} is held by a process of the user {found.user or '?'}, and only that user and root may see "
        "what it runs: run llmdebug as one of them (sudo), or name the source."
    )
    pids = by_command_line(found.port, found.user)
    if not pids:
        raise hidden
    try:
        return _of_any(pids, source)
    except SourceError as error:
        raise hidden from error


def _of_process(process: Running, source: SourceOf | None) -> Linked:
    sites = site_folders(process)
    before = import_folders(process)
    if source is None or not source.package:
        folder = _by_command(process, sites, before)
        return _linked(folder, folder, ())
    package = module_folder(source.package, sites, before)
    if package is None:
        raise SourceError(
            f"The package {source.package} is not found in the environment of {_told(process)}: that may only pass "
            "requests on."
        )
    inside = package / source.folder
    return _linked(inside if inside.is_dir() else package, package, source.pypi)


def _linked(folder: Path, package: Path, names: Sequence[str]) -> Linked:
    name, version = version_of(package, names)
    shown = f"{name} {version}" if version else folder.name
    source = AUTO if str(folder).startswith("/proc/") else str(folder)
    return Linked(folder=str(folder), name=f"{shown} at {folder}", source=source, package=name, version=version)


def _by_command(process: Running, sites: Sequence[Path], before: Sequence[Path]) -> Path:
    """The folder of what the command line starts."""
    module, script = started(process.words)
    if script and not module:
        command = PurePosixPath(script).name
        module = command_module(command, sites)
        if not module:
            place = process.here(script)
            is_source = script.endswith(".py") or is_python(process.program)
            if is_source and place.is_file() and (process.cwd or script.startswith("/")):
                return place.parent
    found = module_folder(module, sites, before) if module else None
    if found is not None:
        return found
    what = _told(process)
    if process.hidden:
        raise SourceError(
            f"What {what} runs may only be seen by its user and root: run llmdebug as one of them (sudo)."
        )
    if module:
        raise SourceError(f"The package {module.partition('.')[0]} that {what} runs is not found in its environment.")
    raise SourceError(f"The command line of {what} names no Python package: name the source.")


def _told(process: Running) -> str:
    return f"process {process.pid} ({' '.join(process.words)[:80] or process.name})"


def started(words: Sequence[str]) -> tuple[str, str]:
    """The module and the script that a command line starts; one of them or both are empty."""
    left = list(words)
    if not left:
        return "", ""
    if is_python(PurePosixPath(left[0]).name):
        left.pop(0)
        while left and left[0].startswith("-") and left[0] != "-m":
            if left.pop(0) in _VALUED and left:
                left.pop(0)
        if left[:1] == ["-m"]:
            if len(left) == 1:
                return "", ""
            return _application(left[1], left[2:]) or (left[1], "")
    if not left:
        return "", ""
    return _application(PurePosixPath(left[0]).name, left[1:]) or ("", left[0])


def _application(program: str, words: Sequence[str]) -> tuple[str, str] | None:
    """What a runner serves: a module, or a file."""
    if program.partition(".")[0] not in RUNNERS:
        return None
    for word in words:
        if _APPLICATION.fullmatch(word):
            return word.partition(":")[0], ""
        if word.endswith(".py") and not word.startswith("-"):
            return "", word
    return "", ""
