"""Indexes of trees with files that can't be read or parsed; votes, progress and cancelling."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmdebug.index.build import Cancelled, Index, open_index, pairs_of
from llmdebug.index.facts import FileFacts
from llmdebug.index.python.extract import extract
from llmdebug.source.tree import open_tree

ROUTE = "@app.post('/v1/x')\ndef x():\n    raise ValueError('the needle is too long for {n} stacks')\n"


def indexed(folder: Path, files: dict[str, str | bytes]) -> Index:
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return open_index(open_tree(folder), keep=False)


BROKEN: dict[str, str | bytes] = {
    "newer.py": ROUTE + "type Alias[T] = list[T]\nquiet x = yes\n",
    "tabs.py": ROUTE + "if 1:\n\tx = 1\n        y = 2\n",
    "nul.py": ROUTE.encode() + b"\0",
    "latin.py": ROUTE.encode() + b"x = '\xe9'\n",
    "wrong_coding.py": b"# -*- coding: klingon -*-\n" + ROUTE.encode(),
    "deep.py": ROUTE + "x = " + "(" * 3_000 + ")" * 3_000 + "\n",
    "deep_sum.py": ROUTE + "x = " + "+".join(["1"] * 60_000) + "\n",
    "deep_not.py": ROUTE + "x = " + "not " * 5_000 + "1\n",
    "number.py": ROUTE + "x = " + "9" * 10_000 + "\n",
}


@pytest.mark.parametrize("path", BROKEN)
def test_a_file_that_cannot_be_parsed_is_named(tmp_path: Path, path: str) -> None:
    index = indexed(tmp_path, {path: BROKEN[path], "good.py": ROUTE})
    assert path in index.base()
    (problem,) = index.problems(index.base())
    assert problem.startswith(f"{path}: ")
    assert "\n" not in problem and "Traceback" not in problem
    assert index.loaded["good.py"].routes


def test_a_file_in_another_declared_coding_is_read(tmp_path: Path) -> None:
    index = indexed(tmp_path, {"a.py": b"# -*- coding: latin-1 -*-\nX = '\xe9'\n" + ROUTE.encode()})
    assert index.problems(index.base()) == []
    assert index.loaded["a.py"].routes
    assert dict(index.loaded["a.py"].constants)["X"] == "'é'"


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    index = indexed(tmp_path, {"a.py": ROUTE, "b.py": "x = 1\n"})
    (tmp_path / "b.py").unlink()
    (tmp_path / "b.py").symlink_to("b.py")
    assert index.facts("b.py") == FileFacts("b.py", problem=index.tree.unreadable["b.py"])
    assert any("b.py" in problem for problem in index.problems(["a.py", "b.py"]))


@given(st.text(alphabet="def class(raise):\n \t'\"#@{}[],.=abc\\\x0c\r0é", max_size=200))
@settings(max_examples=500, deadline=None)
def test_no_source_makes_the_reading_raise(source: str) -> None:
    facts = extract("a.py", source.encode())
    assert facts.path == "a.py"


@given(st.binary(max_size=120))
def test_no_bytes_make_the_reading_raise(source: bytes) -> None:
    assert extract("a.py", source).path == "a.py"


def test_the_whole_standard_library_is_read(tmp_path: Path) -> None:
    folder = Path(os.__file__).parent
    for place in [*sorted(folder.glob("*.py"))[:60], *sorted((folder / "test").glob("test_[gsp]*.py"))[:25]]:
        facts = extract(place.name, place.read_bytes())
        assert not facts.problem or "bad" in place.name, facts.problem


def test_tests_and_examples_count_only_where_nothing_else_is(tmp_path: Path) -> None:
    index = indexed(tmp_path / "a", {"tests/test_app.py": ROUTE, "server.py": ROUTE})
    assert index.base() == ["server.py"]
    index = indexed(tmp_path / "b", {"tests/test_app.py": ROUTE, "plain.py": "x = 1\n"})
    assert index.base() == ["tests/test_app.py"]


def test_the_words_of_a_message_choose_files(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"noise/{n}.py": f"x = 'the needle is {n}'\n" for n in range(40)}
    index = indexed(tmp_path, {**files, "check.py": ROUTE, "tests/check.py": ROUTE})
    assert index.vote("the needle is too long for 7 stacks")[0] == "check.py"
    assert index.vote("nothing that anybody wrote") == []


@pytest.mark.parametrize("text", ["", " ", "a", "\n" * 50, "x" * 10_000, "{" * 500, "é" * 200, "\0\ud800"])
def test_any_text_may_vote(tmp_path: Path, text: str) -> None:
    assert indexed(tmp_path, {"a.py": ROUTE}).vote(text) == []
    assert len(pairs_of(text)) <= 60


def test_progress_is_told_and_ends(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.py").write_text(ROUTE)
    told: list[tuple[str, int, int]] = []
    open_index(open_tree(tmp_path), keep=False, progress=lambda what, done, of: told.append((what, done, of)))
    assert told[-1][1:] == (3, 3)
    assert all(what and done <= of for what, done, of in told)


@pytest.mark.parametrize("after", [0, 1, 3])
def test_opening_can_be_cancelled(tmp_path: Path, after: int) -> None:
    for name in "abc":
        (tmp_path / f"{name}.py").write_text(ROUTE)
    asked: list[int] = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > after

    with pytest.raises(Cancelled):
        open_index(open_tree(tmp_path), keep=False, cancelled=cancelled)


def test_a_vote_can_be_cancelled(tmp_path: Path) -> None:
    index = indexed(tmp_path, {"a.py": ROUTE})
    index.cancelled = lambda: True
    with pytest.raises(Cancelled):
        index.vote("the needle is too long")


@pytest.mark.parametrize(
    ("dotted", "paths"),
    [
        ("pkg.mod", ["pkg/mod.py"]),
        ("mod", ["pkg/mod.py"]),
        ("pkg", ["pkg/__init__.py"]),
        ("other.mod", []),
        ("src.pkg.mod", []),
        ("", []),
    ],
)
def test_module_names_lead_to_files(tmp_path: Path, dotted: str, paths: list[str]) -> None:
    index = indexed(tmp_path, {"pkg/__init__.py": "", "pkg/mod.py": "x = 1\n"})
    assert index.modules(dotted) == paths


def test_a_tree_that_is_a_package_itself_is_imported_from_by_its_own_name(tmp_path: Path) -> None:
    root = tmp_path / "served"
    (root / "api").mkdir(parents=True)
    for path in ("__init__.py", "api/__init__.py", "api/models.py"):
        (root / path).touch()
    index = open_index(open_tree(root), keep=False)
    assert index.modules("served.api.models") == ["api/models.py"]
    assert index.modules("served.api") == ["api/__init__.py"] and index.modules("served") == ["__init__.py"]
    assert index.modules("other.api.models") == []
