"""Words are found in every file of a tree, also where ripgrep does not look."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from llmdebug.index.build import open_index
from llmdebug.source.search import Search
from llmdebug.source.tree import Tree, open_tree

CODE = "def check():\n    raise ValueError('needle in the hay')\n"


def searched(folder: Path) -> Search:
    return open_index(open_tree(folder), keep=False).search


def write(folder: Path, path: str, content: str | bytes) -> None:
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content if isinstance(content, bytes) else content.encode())


ODD: dict[str, str | bytes] = {
    "plain.py": CODE,
    "deep/er/and/deeper.py": CODE,
    ".hidden.py": CODE,
    ".hidden/inside.py": CODE,
    "ignored/by_git.py": CODE,
    "latin.py": b"# caf\xe9 on the same line: needle in the hay\n",
    "latin_elsewhere.py": b"# caf\xe9\n" + CODE.encode(),
    "nul.py": b"x = '\0'\n" + CODE.encode(),
    "bom.py": b"\xef\xbb\xbf" + CODE.encode(),
    "utf16.py": "# needle in the hay\n".encode("utf-16"),
    "carriage.py": CODE.replace("\n", "\r\n"),
    "newer.py": "match x:\n  case = needle in the hay ? :\n",
    "with space.py": CODE,
    "with:colon.py": CODE,
    "long.py": "x = '" + "a" * 100_000 + " needle in the hay'\n",
    ".gitignore": "ignored/\nbuild.py\n",
    "build.py": CODE,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "tree"
    for path, content in ODD.items():
        write(place, path, content)
    return place


EXPECTED = sorted(path for path in ODD if path.endswith(".py") and path != "utf16.py")


def test_every_file_that_holds_the_words_is_found(folder: Path) -> None:
    assert sorted(searched(folder).files_with(["needle in"])) == EXPECTED


def test_every_line_is_found(folder: Path) -> None:
    hits = searched(folder).lines_with("needle")
    assert sorted(hit.path for hit in hits) == EXPECTED
    assert {hit.line for hit in hits if hit.path == "latin_elsewhere.py"} == {3}
    assert hits == sorted(hits, key=lambda hit: (hit.path, hit.line))
    assert all(len(hit.text) <= 2_000 for hit in hits)


def test_rules_of_a_folder_above_hide_nothing(tmp_path: Path) -> None:
    write(tmp_path, ".gitignore", "*.py\n")
    (tmp_path / ".git").mkdir()
    write(tmp_path / "inner" / "tree", "app.py", CODE)
    assert list(searched(tmp_path / "inner" / "tree").files_with(["needle in"])) == ["app.py"]


def test_words_are_told_apart(folder: Path) -> None:
    write(folder, "two.py", "a = 'needle in'\nb = 'other words'\n")
    found = searched(folder).files_with(["needle in", "other words", "nowhere", " ", ""])
    assert found["two.py"] == {"needle in", "other words"}
    assert found["plain.py"] == {"needle in"}


@pytest.mark.parametrize("word", ["a.*b", "[", "(?P<", "\\", "$", "a|b", "{1,999999}", "é", "x\ny"])
def test_words_are_no_patterns(tmp_path: Path, word: str) -> None:
    write(tmp_path, "a.py", f"text = '''{word}'''\n")
    write(tmp_path, "b.py", "text = 'ab a b'\n")
    found = searched(tmp_path).files_with([word])
    assert set(found) == {"a.py"} or "\n" in word
    assert [hit.path for hit in searched(tmp_path).lines_with(word)] == ([] if "\n" in word else ["a.py"])


def test_a_whole_word_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "n_best = 1\nn = 2\nxn = 3\nself.n = n\n")
    assert [hit.line for hit in searched(tmp_path).lines_with("n")] == [2, 4]
    assert len(searched(tmp_path).lines_with("n", most=1)) == 1


def test_all_is_scanned_where_ripgrep_raises(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def search(self, *_arguments: object, **_options: object) -> list[str]:
            raise OSError("permission denied")

    search = searched(folder)
    monkeypatch.setattr("pyripgrep.Grep", Broken)
    assert sorted(search.files_with(["needle in"])) == EXPECTED
    assert sorted(hit.path for hit in search.lines_with("needle")) == EXPECTED


def test_a_cancelled_search_gives_nothing(folder: Path) -> None:
    search = searched(folder)
    assert search.files_with(["needle"], cancelled=lambda: True) == {}
    assert search.lines_with("needle", cancelled=lambda: True) == []


def test_no_files_and_no_words(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    assert Search(tree, []).files_with(["a"]) == {}
    assert Search(tree, []).lines_with("a") == []
    write(tmp_path, "a.py", "a = 1\n")
    assert searched(tmp_path).files_with([]) == {}
    assert searched(tmp_path).lines_with("") == []


def test_random_trees_are_searched_as_a_plain_scan_searches_them(tmp_path: Path) -> None:
    chance = random.Random(4)
    words = ["alpha beta", "gamma", "de lta", "epsilon"]
    for number in range(60):
        lines = [
            " ".join(chance.choices(["alpha", "beta", "gamma", "de", "lta", "\xe9", "epsilon"], k=4)) for _ in range(6)
        ]
        encoding = chance.choice(["utf-8", "latin-1"])
        write(tmp_path, f"{chance.choice('abc')}/{number}.py", "\n".join(lines).encode(encoding))
    expected = {}
    for place in sorted(tmp_path.rglob("*.py")):
        held = {word for word in words if word.encode() in place.read_bytes()}
        if held:
            expected[str(place.relative_to(tmp_path))] = held
    assert searched(tmp_path).files_with(words) == expected
    pattern = r"(de|alpha) [a-z]+"
    matching: dict[str, set[str]] = {}
    for place in tmp_path.rglob("*.py"):
        for match in re.finditer(pattern, place.read_bytes().decode("utf-8", "replace")):
            matching.setdefault(match[0], set()).add(str(place.relative_to(tmp_path)))
    assert searched(tmp_path).matches(pattern) == {text: sorted(paths) for text, paths in sorted(matching.items())}
