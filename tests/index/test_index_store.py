"""The index on disk: shared, broken, read-only and changed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmdebug.index import store
from llmdebug.index.build import Index, open_index
from llmdebug.index.facts import FileFacts
from llmdebug.source.tree import TreeFile, open_tree

APP = (
    "from fastapi import FastAPI\napp = FastAPI()\n@app.post('/v1/x')\ndef x(n: int):\n    raise ValueError('no {n}')\n"
)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    place = tmp_path / "cache"
    monkeypatch.setenv("LLMDEBUG_CACHE_DIR", str(place))
    return place


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "server"
    place.mkdir()
    (place / "app.py").write_text(APP)
    (place / "other.py").write_text("LIMIT = 5\n")
    return place


def opened(folder: Path) -> Index:
    return open_index(open_tree(folder))


def kept_facts(folder: Path) -> dict[str, FileFacts | None]:
    return {path: kept.facts for path, kept in store.load(folder.resolve()).items()}


def test_what_was_read_is_kept_where_the_variable_says(folder: Path, own_cache: Path) -> None:
    opened(folder)
    assert len(list(own_cache.glob("*.index"))) == 1
    facts = kept_facts(folder)
    assert facts["app.py"] is not None and facts["app.py"].routes[0].path == "/v1/x"
    assert facts["other.py"] is None


def test_facts_survive_the_way_to_disk_and_back(folder: Path) -> None:
    first, second = opened(folder), opened(folder)
    assert first.loaded["app.py"] == second.loaded["app.py"]
    assert second.notes == []


def test_a_file_read_later_is_kept_when_saved(folder: Path) -> None:
    index = opened(folder)
    index.facts("other.py")
    index.save()
    assert kept_facts(folder)["other.py"] is not None


@pytest.mark.parametrize("how", ["size", "time"])
def test_a_changed_file_is_read_anew(folder: Path, how: str) -> None:
    opened(folder)
    changed = APP.replace("/v1/x", "/v1/y") if how == "time" else APP.replace("/v1/x", "/v1/longer")
    status = (folder / "app.py").stat()
    (folder / "app.py").write_text(changed)
    moved = 1_000_000 if how == "time" else 0
    os.utime(folder / "app.py", ns=(status.st_atime_ns, status.st_mtime_ns + moved))
    assert opened(folder).loaded["app.py"].routes[0].path in {"/v1/y", "/v1/longer"}


def test_added_and_removed_files_are_noticed(folder: Path) -> None:
    opened(folder)
    (folder / "app.py").unlink()
    (folder / "new.py").write_text(APP)
    index = opened(folder)
    assert list(index.paths) == ["new.py", "other.py"]
    assert list(kept_facts(folder)) == ["new.py", "other.py"]


@given(st.binary(max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_bytes_in_the_cache_count_as_nothing(junk: bytes) -> None:
    root = Path("/nowhere/at/all")
    store.cache_folder().mkdir(parents=True, exist_ok=True)
    store._place(root).write_bytes(junk)
    assert store.load(root) == {}


@pytest.mark.parametrize("kept", [0, 1, 7, 100, -1])
def test_a_torn_cache_file_counts_as_nothing_and_is_replaced(folder: Path, own_cache: Path, kept: int) -> None:
    opened(folder)
    (place,) = own_cache.glob("*.index")
    whole = place.read_bytes()
    place.write_bytes(whole[:kept])
    assert opened(folder).loaded["app.py"].routes
    assert len(place.read_bytes()) == len(whole)


def test_another_version_or_another_tree_counts_as_nothing(folder: Path, own_cache: Path) -> None:
    opened(folder)
    (place,) = own_cache.glob("*.index")
    snapshot = msgspec.msgpack.decode(place.read_bytes(), type=store.Snapshot)
    for other in (
        msgspec.structs.replace(snapshot, format="0/0"),
        msgspec.structs.replace(snapshot, root="/another/tree"),
    ):
        place.write_bytes(msgspec.msgpack.encode(other))
        assert store.load(folder.resolve()) == {}


@pytest.mark.parametrize("below", ["a file", "dev"])
def test_a_folder_that_takes_no_files_is_a_note(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "cache" if below == "a file" else Path("/proc/llmdebug")
    monkeypatch.setenv("LLMDEBUG_CACHE_DIR", str(place))
    index = opened(folder)
    assert index.loaded["app.py"].routes
    assert len(index.notes) == 1 and "can't be kept" in index.notes[0] and "LLMDEBUG_CACHE_DIR" in index.notes[0]
    assert store.clear() == (0, 0)


def test_a_full_disk_is_a_note_and_leaves_nothing_behind(
    folder: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(folder)
    (place,) = own_cache.glob("*.index")
    before = place.read_bytes()

    def full(_descriptor: int, _data: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    (folder / "new.py").write_text(APP)
    index = opened(folder)
    assert "No space left on device" in index.notes[0]
    assert [p.name for p in own_cache.iterdir()] == [place.name]
    assert place.read_bytes() == before


def test_no_home_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "LLMDEBUG_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/proc/no-home")
    index = opened(folder)
    assert index.loaded["app.py"].routes
    assert len(index.notes) == 1


def test_a_path_that_is_no_text(tmp_path: Path) -> None:
    try:
        place = tmp_path / os.fsdecode(b"caf\xe9")
        place.mkdir()
    except (OSError, UnicodeError):
        pytest.skip("this file system takes no such name")
    (place / "app.py").write_text(APP)
    assert opened(place).loaded["app.py"].routes
    assert store.load(place.resolve())


def test_threads_that_save_at_once_leave_a_whole_file(folder: Path, own_cache: Path) -> None:
    files = {f"f{n}.py": store.Kept(n, n, True, False, FileFacts(f"f{n}.py")) for n in range(200)}
    reasons: list[str] = []

    def save() -> None:
        for _ in range(20):
            reasons.append(store.save(folder, files))
            assert store.load(folder) == files

    threads = [threading.Thread(target=save) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(reasons) == {""}
    assert len(list(own_cache.iterdir())) == 1


def test_a_writer_that_is_killed_leaves_the_last_whole_file(folder: Path, own_cache: Path) -> None:
    opened(folder)
    script = (
        "import os, sys, pathlib\nfrom llmdebug.index import store\n"
        "os.replace = lambda *a: os.kill(os.getpid(), 9)\n"
        "store.save(pathlib.Path(sys.argv[1]), {})\n"
    )
    ended = subprocess.run([sys.executable, "-c", script, str(folder.resolve())], check=False, timeout=60)
    assert ended.returncode == -9
    assert kept_facts(folder)["app.py"] is not None
    assert store.clear()[0] == 2
    assert list(own_cache.iterdir()) == []


def test_clearing_counts_what_it_removes(folder: Path, own_cache: Path) -> None:
    opened(folder)
    (own_cache / "of-somebody-else.txt").write_text("stays")
    count, size = store.clear()
    assert count == 1 and size > 100
    assert [p.name for p in own_cache.iterdir()] == ["of-somebody-else.txt"]


def test_a_kept_file_fits_by_size_and_time() -> None:
    kept = store.Kept(5, 7, True, False)
    assert kept.fits(TreeFile("a.py", 5, 7))
    assert not kept.fits(TreeFile("a.py", 6, 7))
    assert not kept.fits(TreeFile("a.py", 5, 8))
