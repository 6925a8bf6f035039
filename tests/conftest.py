"""What all tests stand on: nothing of the machine's user is read or written."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import settings
from package_index import PackageIndex
from vocabularies import KINDS, saved

from llmdebug.demo.server import DemoServer
from llmdebug.tokens.tokenizer import Tokenizer, load

# A shell that starts the tests in the background has them ignore Ctrl-C, and the programs that they start too.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")  # --hypothesis-profile=default looks further

_OF_THE_USER = (
    "LLMDEBUG_CONFIG",
    "LLMDEBUG_TIMEOUT",
    "LLMDEBUG_RECORD",
    "LLMDEBUG_HISTORY_MB",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_API_BASE",
    "LLMDEBUG_DEBUG",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
)


@pytest.fixture(scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache of indexes for all tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def apart_from_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache_folder: Path) -> None:
    monkeypatch.setenv("LLMDEBUG_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("LLMDEBUG_CACHE_DIR", str(cache_folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in _OF_THE_USER:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(scope="session")
def nanoserve() -> Iterator[DemoServer]:
    """The demo's server, running."""
    with DemoServer() as server:
        yield server


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[PackageIndex]:
    """A package index on loopback, the only one that is configured, and an empty cache of sources."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("LLMDEBUG_CACHE_DIR", str(tmp_path / "cache"))
    with PackageIndex() as served:
        monkeypatch.setenv("PIP_INDEX_URL", served.url)
        yield served


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A model's folder for each kind of tokenizer."""
    root = tmp_path_factory.mktemp("tokenizers")
    return {kind: saved(train(), root / kind) for kind, train in KINDS.items()}


@pytest.fixture(scope="session")
def tokenizers(folders: Mapping[str, Path]) -> Mapping[str, Tokenizer]:
    """The same, loaded in this process."""
    return {kind: load(str(folder), hub=False, progress=lambda what: None) for kind, folder in folders.items()}
