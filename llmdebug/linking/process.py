"""What a running process tells of where its code lies. Nothing of it is run; what the rights hide is named."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import psutil

from llmdebug.linking.spec import SourceError

MAX_MAPS = 20_000_000
_SITE = re.compile(r"(/\S*?/(?:site|dist)-packages)/")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_MAX_LINKS = 40
_MAX_PARENTS = 4


@dataclass(frozen=True, slots=True)
class Running:
    """A process."""

    pid: int
    name: str
    words: tuple[str, ...]
    """Its command line."""
    cwd: str
    """Empty where it may not be seen; so for `environment` and `mapped`."""
    environment: dict[str, str]
    mapped: tuple[str, ...]
    """The folders of installed packages that it has files of in its memory."""
    root: str
    """What leads to its files: empty, its root folder, or `/proc/PID/root` for one in a container."""
    hidden: bool
    """Whether the rights to see all of it are missing."""

    @property
    def program(self) -> str:
        """The name of the program, whatever it calls itself."""
        return PurePosixPath(self.words[0]).name if self.words else self.name

    def here(self, path: str) -> Path:
        """One of its paths as this process reaches it, its links followed as the other process would."""
        absolute = os.path.normpath(os.path.join(self.cwd or "/", path))
        return Path(self.root + _followed(self.root, absolute)) if self.root else Path(absolute)


def running(pid: int) -> Running:
    """Raises SourceError where the process is gone."""
    try:
        process = psutil.Process(pid)
        name, words = process.name(), tuple(process.cmdline())
    except (psutil.Error, OSError) as error:
        raise SourceError(f"Process {pid} is gone, or may not be seen.") from error
    hidden, cwd, environment, maps = False, "", {}, ""
    try:
        cwd, environment = process.cwd(), process.environ()
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            maps = file.read(MAX_MAPS)
    except (psutil.Error, OSError):
        hidden = True
    root = _root(pid)
    inside = re.compile(re.escape(root) + r"(?=/)") if root else re.compile(r"(?!)")
    sites = tuple(dict.fromkeys(inside.sub("", site, count=1) for site in _SITE.findall(maps)))
    return Running(pid, name, words, inside.sub("", cwd, count=1), environment, sites, root, hidden)


def starter(process: Running) -> Running:
    """The process whose command line says what runs: a worker that multiprocessing made only says that it is one."""
    for _ in range(_MAX_PARENTS):
        if not any(word.startswith("from multiprocessing") for word in process.words):
            break
        try:
            process = running(psutil.Process(process.pid).ppid())
        except psutil.Error as error:
            raise SourceError(f"Process {process.pid} is gone, or may not be seen.") from error
    return process


def is_python(program: str) -> bool:
    return _PYTHON.fullmatch(program) is not None


def site_folders(process: Running) -> list[Path]:
    """The folders of installed packages that the process may import from, the surest first."""
    found = [process.here(site) for site in process.mapped]
    interpreter = process.words[0] if process.words else ""
    prefixes = [os.path.dirname(os.path.dirname(interpreter))] if "/" in interpreter else []
    prefixes += [process.environment[name] for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if process.environment.get(name)]
    if not found and not prefixes:
        prefixes = ["/usr", "/usr/local"]
    for prefix in prefixes:
        place = process.here(prefix)
        found += sorted(place.glob("lib/python3*/*-packages")) + sorted(place.glob("lib/python3/dist-packages"))
    home = process.environment.get("HOME")
    if home:
        found += sorted(process.here(home).glob(".local/lib/python3*/site-packages"))
    return [place for place in dict.fromkeys(found) if place.is_dir()]


def import_folders(process: Running) -> list[Path]:
    """Folders that come before the installed packages: of PYTHONPATH, and the working folder."""
    named = [part for part in process.environment.get("PYTHONPATH", "").split(os.pathsep) if part]
    folders = [process.cwd, *named] if process.cwd else named
    return [place for place in dict.fromkeys(map(process.here, folders)) if place.is_dir()]


def _root(pid: int) -> str:
    """Empty where the process has the same root folder, or where that may not be seen."""
    path = f"/proc/{pid}/root"
    try:
        there, here, named = os.stat(path), os.stat("/"), os.readlink(path)
    except OSError:
        return ""
    if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino):
        return ""
    return path if named == "/" else named


def _followed(root: str, path: str) -> str:
    """A path with its symbolic links followed inside another root folder, out of which none leads."""
    left, done = [part for part in path.split("/") if part], "/"
    for _ in range(_MAX_LINKS + len(left) + 200):
        if not left:
            break
        part = left.pop(0)
        if part in (".", ".."):
            done = os.path.dirname(done) if part == ".." else done
            continue
        candidate = os.path.join(done, part)
        try:
            target = os.readlink(root + candidate)
        except OSError:
            done = candidate
            continue
        left = [piece for piece in target.split("/") if piece] + left
        done = "/" if target.startswith("/") else done
    return os.path.join(done, *left)
