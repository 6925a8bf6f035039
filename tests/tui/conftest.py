"""What every test of the screen needs: a state folder of its own, and no colours of the user's terminal."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of a test reaches the user's history, drafts or config."""
    state = tmp_path / "state"
    monkeypatch.setenv("LLMDEBUG_STATE_DIR", str(state))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("NO_COLOR", "TMUX", "VISUAL", "EDITOR", "LLMDEBUG_CONFIG", "LLMDEBUG_THEME", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    return state


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tiny server's source."""
    folder = tmp_path / "server"
    folder.mkdir()
    (folder / "server.py").write_text(
        "from pydantic import BaseModel\n"
        "class CompletionRequest(BaseModel):\n"
        "    prompt: str | list[int]\n"
        "    n: int = 1\n" + "".join(f"# line {n}\n" for n in range(5, 80)),
        encoding="utf-8",
    )
    (folder / "worker.py").write_text("def run(prompt_token_ids): ...\n", encoding="utf-8")
    return folder
