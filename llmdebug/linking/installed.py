"""Packages as they lie in an environment: their folder, their version, and what a command of theirs runs.

Only files are read: no `.pth` line, finder or entry point is ever run.
"""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from llmdebug.linking.spec import normal_name

MAX_BYTES = 2_000_000
MAX_ENTRIES = 20_000
_DIST = re.compile(r"(?P<name>[^-]+(?:-[^-\d][^-]*)*)-(?P<version>[^-]+)\.(?:dist|egg)-info")
_MAPPING = re.compile(r"^MAPPING\b[^=]*=\s*(\{.*\})\s*$", re.MULTILINE)
_VERSION_LINE = re.compile(r"^(?:__version__|version)\s*(?::[^=]*)?=\s*['\"]([^'\"\n]{1,80})['\"]", re.MULTILINE)
_VERSION_FILES = ("_version.py", "version.py", "__init__.py")


def module_folder(module: str, sites: Sequence[Path], before: Sequence[Path] = ()) -> Path | None:
    """The folder of a module's package, or the folder that a module of one file lies in; None where it is not there."""
    top = module.partition(".")[0]
    if not top.isidentifier():
        return None
    folders = [*before, *sites, *(folder for site in sites for folder in _added(site))]
    for folder in folders:
        if _is_package(folder / top):
            return folder / top
        if (folder / f"{top}.py").is_file():
            return folder
    for site in sites:
        place = _editable(site).get(top)
        if place is not None and _is_package(place):
            return place
    return None


def command_module(command: str, sites: Iterable[Path]) -> str:
    """The module that an installed command runs; empty where it is none of these environments."""
    for site in sites:
        for path in _listed(site, "*.dist-info/entry_points.txt"):
            parser = configparser.RawConfigParser(delimiters=("=",), strict=False)
            parser.optionxform = str  # type: ignore[assignment, method-assign]
            try:
                parser.read_string(_text(path))
                return parser.get("console_scripts", command).partition(":")[0].strip()
            except configparser.Error:
                continue
    return ""


def version_of(folder: Path, names: Iterable[str] = ()) -> tuple[str, str]:
    """The package and version that lie in a folder, by what lies beside it; empty texts where nothing says so.

    `names` are packages that it may be of, besides the one that is called as the folder.
    """
    wanted = {normal_name(name) for name in (folder.name, *names)}
    for site in (folder.parent, folder):
        found = {}
        for path in _listed(site, "*-info"):
            match = _DIST.fullmatch(path.name)
            if match and not path.name.startswith("~"):
                found[normal_name(match["name"])] = match["version"]
        for name in sorted(wanted & found.keys()):
            return name, found[name]
        if site == folder and len(found) == 1:
            return next(iter(found.items()))
    for name in _VERSION_FILES:
        match = _VERSION_LINE.search(_text(folder / name))
        if match:
            return normal_name(folder.name), match[1]
    return "", ""


def _added(site: Path) -> Iterator[Path]:
    """Folders that `.pth` files add, as editable installs do."""
    for path in _listed(site, "*.pth"):
        for line in _text(path).splitlines():
            written = line.strip()
            if written and not written.startswith(("#", "import ", "import\t")) and "\0" not in written:
                folder = site / written
                if folder.is_dir():
                    yield folder


def _editable(site: Path) -> dict[str, Path]:
    """Package to folder, from the finders of editable installs; they are read, not run."""
    found: dict[str, Path] = {}
    for path in _listed(site, "__editable___*_finder.py"):
        match = _MAPPING.search(_text(path))
        try:
            mapping = ast.literal_eval(match[1]) if match else {}
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(mapping, dict):
            found |= {str(name): Path(place) for name, place in mapping.items() if isinstance(place, str)}
    return found


def _is_package(folder: Path) -> bool:
    try:
        return folder.is_dir() and ((folder / "__init__.py").is_file() or any(folder.glob("*.py")))
    except OSError:
        return False


def _listed(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(folder.glob(pattern))[:MAX_ENTRIES]
    except OSError:
        return []


def _text(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(MAX_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
