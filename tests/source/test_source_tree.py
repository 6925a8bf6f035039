"""Trees that are missing, empty, broken or hostile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from llmdebug.source import tree as tree_module
from llmdebug.source.tree import TreeError, open_tree


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "server"
    (place / "pkg").mkdir(parents=True)
    (place / "pkg" / "app.py").write_text("x = 1\n")
    (place / "b.py").write_text("")
    (place / "notes.md").write_text("no code")
    return place


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda place: place / "absent", "there is no such folder"),
        (lambda place: place / "b.py", "is a file"),
        (lambda place: place / "empty", "is an empty folder"),
        (lambda place: place / "b.py" / "below", "folder"),
        (lambda place: place / ("a" * 5_000), "folder"),
        (lambda place: "\0", "folder"),
    ],
)
def test_a_tree_that_cannot_be_used_is_said_in_a_sentence(folder: Path, make, says: str) -> None:  # type: ignore[no-untyped-def]
    (folder / "empty").mkdir()
    with pytest.raises(TreeError, match=says):
        open_tree(make(folder))


def test_the_folder_of_a_user_that_does_not_exist() -> None:
    with pytest.raises(TreeError, match="folder"):
        open_tree("~nobody-of-this-name/server")


def test_files_are_sorted_and_of_the_suffix(folder: Path) -> None:
    tree = open_tree(folder)
    assert [f.path for f in tree.files()] == ["b.py", "pkg/app.py"]
    assert tree.files()[1].size == 6
    assert tree.name == "server"


def test_links_are_not_followed(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text("secret = 1")
    (folder / "link.py").symlink_to(outside)
    (folder / "loop").symlink_to(folder)
    (folder / "pkg" / "up").symlink_to("..")
    (folder / "self.py").symlink_to("self.py")
    tree = open_tree(folder)
    assert [f.path for f in tree.files()] == ["b.py", "pkg/app.py"]
    assert tree.read("link.py") is None
    assert "link.py" in tree.unreadable


@pytest.mark.parametrize(
    "path", ["../outside.py", "pkg/../../outside.py", "/etc/hostname", "pkg", "absent.py", "a\0b.py"]
)
def test_what_is_not_a_file_of_the_tree_is_not_read(folder: Path, tmp_path: Path, path: str) -> None:
    (tmp_path / "outside.py").write_text("secret = 1")
    tree = open_tree(folder)
    assert tree.read(path) is None
    assert tree.unreadable[path]


def test_a_pipe_in_the_tree_blocks_nothing(folder: Path) -> None:
    os.mkfifo(folder / "pipe.py")
    tree = open_tree(folder)
    assert [f.path for f in tree.files()] == ["b.py", "pkg/app.py"]
    assert not tree.read("pipe.py")


def test_a_file_that_vanishes_is_remembered(folder: Path) -> None:
    tree = open_tree(folder)
    tree.files()
    (folder / "b.py").unlink()
    assert tree.read("b.py") is None
    assert "No such file" in tree.unreadable["b.py"]


def test_a_huge_file_is_named_rather_than_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "MAX_FILE_BYTES", 2_000_000)
    with open(folder / "huge.py", "wb") as file:
        file.truncate(3_000_000)
    tree = open_tree(folder)
    assert tree.read("huge.py") is None
    assert tree.unreadable["huge.py"] == "larger than 2 MB"


def test_more_files_than_are_read_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "MAX_FILES", 1)
    tree = open_tree(folder)
    assert len(tree.files()) == 1
    assert "only the first 1 files" in tree.unreadable["."]


def test_names_that_are_no_text_are_left_out_and_said(folder: Path) -> None:
    try:
        (folder / os.fsdecode(b"caf\xe9.py")).write_text("x = 1")
    except (OSError, UnicodeError):
        pytest.skip("this file system takes no such name")
    tree = open_tree(folder)
    assert [f.path for f in tree.files()] == ["b.py", "pkg/app.py"]
    assert list(tree.unreadable) == ["caf\ufffd.py"]


def test_an_excerpt_marks_the_place_and_counts_lines_as_python_does(folder: Path) -> None:
    (folder / "odd.py").write_bytes("a = '\x0c \u2028'\r\nb = 1\nc = '\xe9'\n".encode() + b"d = '\xff'\n")
    tree = open_tree(folder)
    assert tree.excerpt("odd.py", 2, 3, around=1).split("\n")[1:] == ["2 ▶ b = 1", "3 ▶ c = 'é'", "4 │ d = '\ufffd'"]
    assert tree.excerpt("absent.py", 1, 1) == ""
    assert tree.excerpt("odd.py", 900, 901) == ""


def test_an_excerpt_of_a_long_statement_is_bounded(folder: Path) -> None:
    (folder / "long.py").write_text("\n".join(f"x{i} = 1" for i in range(500)))
    assert len(open_tree(folder).excerpt("long.py", 10, 400).split("\n")) <= 14
