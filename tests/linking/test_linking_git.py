"""Fetching commits from a repository on this machine, over file://."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from llmdebug.index.build import Cancelled
from llmdebug.linking import shelf
from llmdebug.linking.git import fetch_commit
from llmdebug.linking.linked import fetched
from llmdebug.linking.spec import SourceError, Spec, parse_spec


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a tag v1, a later commit, a filter that would write a file, a link, a large file and a submodule."""
    monkeypatch.setenv("LLMDEBUG_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".gitconfig").write_text(
        f'[user]\nname = t\nemail = t@t\n[filter "f"]\nclean = cat\nsmudge = touch {tmp_path}/proof\n'
        '[protocol "file"]\nallow = always\n[uploadpack]\nallowFilter = true\nallowAnySHA1InWant = true\n'
    )
    work = tmp_path / "work"
    (work / "pkg").mkdir(parents=True)
    git(tmp_path, "init", "-q", str(work))
    (work / ".gitattributes").write_text("*.py filter=f export-subst\n")
    (work / "pkg" / "app.py").write_text("version = 1\n")
    (work / "pkg" / "odd name é.py").write_text("odd = 1\n")
    (work / "pkg" / "large.py").write_text("#" * 5_000_000)
    (work / "pkg" / "link.py").symlink_to("/etc/passwd")
    (work / "image.png").write_bytes(b"png")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "one")
    git(work, "tag", "v1")
    (work / "pkg" / "app.py").write_text("version = 2\n")
    git(work, "commit", "-q", "-a", "-m", "two")
    (tmp_path / "proof").unlink(missing_ok=True)
    return work


def git(folder: Path, *words: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["git", *words], cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout


def spec_of(repository: Path, ref: str) -> Spec:
    found = parse_spec(f"git:file://{repository}@{ref}")
    assert found is not None
    return found


def test_a_tag_is_kept_as_source_only_and_nothing_of_it_runs(repository: Path, tmp_path: Path) -> None:
    spec = spec_of(repository, "v1")
    made = fetch_commit(spec)
    assert made.version == git(repository, "rev-parse", "v1").strip() and made.left_out == 2
    tree = shelf.tree_of(spec)
    assert {path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()} == {
        "pkg/app.py",
        "pkg/odd name é.py",
    }
    assert (tree / "pkg/app.py").read_text() == "version = 1\n"
    assert not (tmp_path / "proof").exists() and not list(tree.parent.glob("clone"))
    git(repository, "tag", "-d", "v1")
    assert fetched(f"git:file://{repository}@v1#pkg").folder == str(tree / "pkg")


def test_branches_and_whole_commit_names_are_fetched(repository: Path) -> None:
    branch, commit = git(repository, "branch", "--show-current").strip(), git(repository, "rev-parse", "v1").strip()
    fetch_commit(spec_of(repository, branch))
    assert (shelf.tree_of(spec_of(repository, branch)) / "pkg/app.py").read_text() == "version = 2\n"
    assert fetch_commit(spec_of(repository, commit)).version == commit
    assert fetch_commit(spec_of(repository, commit[:9])).version == commit
    with pytest.raises(SourceError, match="no such commit"):
        fetch_commit(spec_of(repository, "0123456"))


@pytest.mark.parametrize(("folder", "ref"), [("work", "v9"), ("nowhere", "v1")])
def test_what_is_not_there_is_told_in_git_s_words(repository: Path, folder: str, ref: str) -> None:
    with pytest.raises(SourceError, match=r"cannot be fetched: .+\.$") as refused:
        fetch_commit(spec_of(repository.parent / folder, ref))
    assert "\n" not in str(refused.value) and shelf.all_kept() == []


def test_cloning_can_be_cancelled_and_needs_git(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Cancelled):
        fetch_commit(spec_of(repository, "v1"), cancelled=lambda: True)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SourceError, match="install git"):
        fetch_commit(spec_of(repository, "v1"))
