"""Which package index to ask, as pip's configuration files and environment say. pip itself need not be there."""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from llmdebug.linking.spec import SourceError

DEFAULT_INDEX = "https://pypi.org/simple"
SECTIONS = ("global", "download")
"""Later ones win, as for `pip download`."""
_TRUE = frozenset({"1", "true", "yes", "on", "y", "t"})
_MAX_BYTES = 1_000_000


class IndexSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where packages come from, and how to connect."""

    index_urls: tuple[str, ...]
    find_links: tuple[str, ...] = ()
    trusted_hosts: tuple[str, ...] = ()
    ca_file: str | None = None
    client_cert: str | None = None
    proxy: str | None = None
    timeout_s: float = 15.0


def index_settings(environment: Mapping[str, str] = os.environ) -> IndexSettings:
    """Raises SourceError for a configuration file that cannot be used."""
    found: dict[str, str] = {}
    for path in _files(environment):
        found.update(_read(path))
    for name, value in environment.items():
        if name.startswith("PIP_") and value:
            found[name.removeprefix("PIP_").lower().replace("_", "-")] = value
    offline = found.get("no-index", "").lower() in _TRUE
    indexes = [found.get("index-url", DEFAULT_INDEX), *found.get("extra-index-url", "").split()]
    return IndexSettings(
        index_urls=() if offline else tuple(indexes),
        find_links=tuple(found.get("find-links", "").split()),
        trusted_hosts=tuple(found.get("trusted-host", "").split()),
        ca_file=found.get("cert"),
        client_cert=found.get("client-cert"),
        proxy=found.get("proxy"),
        timeout_s=_seconds(found.get("timeout") or found.get("default-timeout")),
    )


def _files(environment: Mapping[str, str]) -> Iterator[Path]:
    """The machine's, the user's, the environment's; later ones win."""
    named = environment.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return
    machine = (environment.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep)
    yield from (Path(folder) / "pip" / "pip.conf" for folder in reversed(machine) if folder)
    yield Path("/etc/pip.conf")
    home = environment.get("HOME")
    if home:
        yield Path(home) / ".pip" / "pip.conf"
        yield Path(environment.get("XDG_CONFIG_HOME") or Path(home) / ".config") / "pip" / "pip.conf"
    yield Path(sys.prefix) / "pip.conf"
    if named:
        yield Path(named).expanduser()


def _read(path: Path) -> dict[str, str]:
    try:
        with open(path, "rb") as file:
            text = file.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return {}
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text, source=str(path))
    except configparser.Error as error:
        raise SourceError(f"pip's configuration cannot be read: {' '.join(str(error).split())}") from error
    options: dict[str, str] = {}
    for section in SECTIONS:
        if parser.has_section(section):
            options.update((name.lower().replace("_", "-"), value) for name, value in parser.items(section))
    return options


def _seconds(written: str | None) -> float:
    try:
        return min(max(float(written or 15), 1), 600)
    except ValueError:
        return 15.0
