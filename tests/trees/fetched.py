"""Source of real servers, fetched once from the package index into a cache folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import platformdirs

FOLDER_VARIABLE = "LLMDEBUG_TREES"
SOURCE_SUFFIXES = {".py", ".pyi", ".go", ".rs", ".cpp", ".cc", ".h", ".hpp", ".jinja", ".jinja2", ".toml", ".md"}
FETCH_SECONDS = 480


class NotFetched(Exception):
    """A tree that cannot be had; the message says why."""


def trees_folder() -> Path:
    """Where trees are kept: LLMDEBUG_TREES, else a folder of the user's cache."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else Path(platformdirs.user_cache_dir("llmdebug-trees"))


def kept_tree(name: str, trees: Path) -> Path | None:
    """The folder of a tree id where it is at hand; `#folder` behind an id names a folder inside."""
    base, _, inside = name.partition("#")
    place = trees / base.replace("/", "_").replace(":", "_") / inside
    return place if base and place.is_dir() else None


def fetched_tree(name: str, trees: Path) -> Path:
    """The folder of a tree id `pypi:NAME==VERSION`, fetched where it is not at hand.

    Safe against others that fetch at the same time. Raises NotFetched.
    """
    kept = kept_tree(name, trees)
    if kept is not None:
        return kept
    scheme, _, requirement = name.partition(":")
    if scheme != "pypi":
        raise NotFetched(f"{name} is not at hand in {trees}, and only pypi: trees can be fetched")
    trees.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=trees, prefix="fetching-") as folder:
        unpacked = Path(folder) / "tree"
        _unpack(_download(requirement, Path(folder)), unpacked)
        try:
            unpacked.rename(trees / name.replace(":", "_"))
        except OSError:
            if kept_tree(name, trees) is None:
                raise
    return trees / name.replace(":", "_")


def fetched_file(requirement: str, member: str, trees: Path) -> Path:
    """One file of a wheel, kept for the next time. Raises NotFetched."""
    kept = trees / "files" / requirement / Path(member).name
    if kept.is_file():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=trees, prefix="fetching-") as folder:
        with zipfile.ZipFile(_download(requirement, Path(folder))) as archive:
            fresh = Path(archive.extract(member, folder))
        fresh.replace(kept)
    return kept


def _download(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise NotFetched(f"{requirement} was not fetched within {FETCH_SECONDS} s") from error
    wheels = list(folder.glob("*.whl"))
    if not wheels:
        said = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise NotFetched(f"{requirement} cannot be fetched: {said}")
    return wheels[0]


def _unpack(wheel: Path, place: Path) -> None:
    place.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if Path(name).suffix in SOURCE_SUFFIXES:
                archive.extract(name, place)
