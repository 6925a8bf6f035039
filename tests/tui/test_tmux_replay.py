"""Stepping through a HAR file in a real tmux, by keys alone."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from real_tmux import WHY_NOT, Tmux
from recorded_pipeline import GOOD, NO_MODEL, har

from llmdebug.demo.server import DemoServer

pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

LLMDEBUG = f"{shlex.quote(sys.executable)} -m llmdebug"


def test_break_continue_edit_and_send_again(own_state: Path, tmp_path: Path, nanoserve: DemoServer) -> None:
    file = har(tmp_path, GOOD, NO_MODEL, GOOD)
    words = f"open {nanoserve.base_url} --file {shlex.quote(file)} --source {shlex.quote(str(nanoserve.source))}"
    with Tmux(f"{LLMDEBUG} {words}") as tmux:
        tmux.shows("recorded: 200")
        tmux.shows("n step")
        tmux.keys("b")
        tmux.shows("break when")
        tmux.type("status >= 400")
        tmux.keys("Enter")
        tmux.shows("Break when status >= 400.")
        tmux.keys("c")
        tmux.shows("Stopped behind step 2: status >= 400; step 3 is next.")
        screen = tmux.shows("changed, was 200: 404")
        assert '"model": "bob"' in screen
        tmux.shows("Diagnosis  model_not_found")
        tmux.keys("e", "Down", "End", "BSpace", "BSpace", "BSpace", "BSpace", "BSpace")
        tmux.until(lambda screen: '"model": "' in screen and '"model": "b' not in screen)
        tmux.type('alice",')
        tmux.shows('"model": "alice",')
        tmux.keys("C-r")
        tmux.shows("attempt 2 of 2: 200")
        assert "changed, was" not in tmux.screen()
        tmux.keys("p")
        screen = tmux.shows("break status >= 400")
        assert "2 200" in screen
        tmux.keys("p", "c")
        tmux.shows("All steps are done.")
        tmux.keys("q")
        tmux.shows("ended 0")
