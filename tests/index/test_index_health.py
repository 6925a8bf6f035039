"""Trees in which nothing of a server can be found say so, and why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from llmdebug.index.build import open_index
from llmdebug.index.health import defect_of, mixture_of
from llmdebug.source.tree import Tree, open_tree

ROUTE = "@app.post('/v1/x')\ndef x(): ...\n"


def defect(folder: Path, files: dict[str, str]) -> str:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    return defect_of(open_index(open_tree(folder, "served"), keep=False))


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"main.cob": "STOP RUN."},
            "tells nothing: it holds no source of a server in a language that is read (Python, ",
        ),
        ({"a.py": "def (:", "b.py": "\0"}, "tells nothing: no file can be parsed (a.py: line 1: invalid syntax)"),
        (
            {"a.py": ROUTE + "def (:", "b.py": "x = 1"},
            "tells nothing: no file that would hold its routes can be parsed (a.py: line 3: invalid syntax)",
        ),
        ({"a.py": "def (:", "b.py": "x = 1"}, "registers a route, so little is found in it: give the folder"),
    ],
)
def test_what_is_wrong_with_a_tree_is_told(tmp_path: Path, files: dict[str, str], told: str) -> None:
    said = defect(tmp_path, files)
    assert told in said and "the linked source served" in said


def test_a_tree_of_a_server_is_in_order_whatever_else_is_in_it(tmp_path: Path) -> None:
    assert defect(tmp_path, {"a.py": ROUTE, "b.py": ROUTE + "def (:", "c.py": "def (:"}) == ""


def test_a_tree_of_links_and_an_unreadable_one_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real.txt").write_text(ROUTE)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.py").symlink_to(tmp_path / "real.txt")
    told = defect(tmp_path / "tree", {})
    assert "tells nothing: it holds no source but links (1), which are not followed" in told

    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    tree = Tree(tmp_path / "tree", "served")
    monkeypatch.setattr(os, "scandir", refuse)
    assert "tells nothing: it cannot be read (.: Permission denied)" in defect_of(open_index(tree, keep=False))


def mixture(folder: Path, *paths: str) -> str:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(ROUTE if path.endswith(".py") and not path.endswith("__init__.py") else "")
    return mixture_of(open_index(open_tree(folder, "served"), keep=False))


@pytest.mark.parametrize(
    ("paths", "named"),
    [
        (("one/pyproject.toml", "one/a.py", "two/setup.py", "two/src/b.py", "two/c.py"), ("two", "one")),
        (("x/y/vllm-0.5.1/a.py", "x/y/sglang==0.5.8/b.py"), ("x/y/sglang==0.5.8", "x/y/vllm-0.5.1")),
        (("one/__init__.py", "one/a.py", "two/a.py", "one-1.dist-info/RECORD"), ("one", "two")),
    ],
)
def test_a_folder_of_several_servers_is_told_with_each_of_them(
    tmp_path: Path, paths: tuple[str, ...], named: tuple[str, ...]
) -> None:
    told = mixture(tmp_path, *paths)
    assert told.startswith(f"the linked source served holds {len(named)} projects that serve routes")
    assert told.endswith(", ".join(str(tmp_path / name) for name in named))


@pytest.mark.parametrize(
    "paths",
    [
        ("README.md", "one/pyproject.toml", "one/a.py", "two/setup.py", "two/b.py"),
        ("__init__.py", "one/__init__.py", "one/a.py", "two/__init__.py", "two/b.py"),
        ("one/__init__.py", "one/a/__init__.py", "one/a/x.py", "one/b/__init__.py", "one/b/y.py"),
        ("a.py", "one/pyproject.toml", "one/b.py"),
        ("one/pyproject.toml", "one/a.py", "tests/pyproject.toml", "tests/b.py"),
        ("api/a.py", "engine/b.py"),
    ],
)
def test_a_project_of_several_parts_is_one(tmp_path: Path, paths: tuple[str, ...]) -> None:
    assert mixture(tmp_path, *paths) == ""
