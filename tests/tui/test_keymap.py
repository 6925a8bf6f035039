"""One table of commands: keys, conflicts, README."""

from __future__ import annotations

from pathlib import Path

import pytest

from llmdebug.tui.acts.table import ACTS
from llmdebug.tui.commands import BY_NAME, COMMANDS, REASONS, unmet
from llmdebug.tui.keylist import BEGIN, END, key_list, with_key_list
from llmdebug.tui.keymap import Keymap, parse_key, shown_key

README = Path(__file__).parents[2] / "README.md"
SWALLOWED = ("f1", "alt+", "ctrl+shift", "ctrl+enter", "shift+enter")


def test_each_command_has_an_act() -> None:
    assert set(BY_NAME) == set(ACTS) | {"remedy"}
    assert len(BY_NAME) == len(COMMANDS)


def test_the_table_has_no_conflicts() -> None:
    assert Keymap().problems == []


def test_no_command_hangs_on_a_key_that_terminals_swallow() -> None:
    for command in COMMANDS:
        assert any(not key.startswith(SWALLOWED) for key in command.keys), command.name


def test_letters_do_nothing_while_typing() -> None:
    keymap = Keymap()
    reached = {key for command in keymap.in_context("editor") for key in keymap.keys[command.name]}
    assert all(key == "escape" or key.startswith("ctrl+") for key in reached)


def test_a_search_has_n_until_it_ends() -> None:
    keymap = Keymap()
    found = keymap.command("n", "response", searching=True)
    assert found is not None
    assert found.name == "search-next"
    found = keymap.command("n", "response")
    assert found is not None
    assert found.name == "step"


def test_rebinding() -> None:
    keymap = Keymap({"send": ["Ctrl-x", "S"], "zoom": ["?"]})
    sent = keymap.command("ctrl+x", "request")
    assert sent is not None
    assert sent.name == "send"
    assert keymap.command("s", "request") is None
    assert any("? is bound to" in problem and "zoom" in problem for problem in keymap.problems)
    zoomed = keymap.command("question_mark", "request")
    assert zoomed is not None
    assert zoomed.name == "zoom", "the user's binding wins"


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ({"sned": ["s"]}, "there is no command 'sned'; did you mean 'send'?"),
        ({"send": ["hyper-q-z"]}, "'hyper-q-z' is no key"),
        ({"send": ["t"]}, "t does next-view in the response context, not send"),
        ({"down": ["s"]}, "s does send"),
    ],
)
def test_a_binding_that_cannot_be_is_told(bound: dict[str, list[str]], told: str) -> None:
    assert any(told in problem for problem in Keymap(bound).problems)


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("Ctrl-x", "ctrl+x"),
        ("ctrl+x", "ctrl+x"),
        ("?", "question_mark"),
        ("Space", "space"),
        ("F5", "f5"),
        ("G", "G"),
        ("-", "minus"),
    ],
)
def test_keys_as_people_write_them(written: str, key: str) -> None:
    assert parse_key(written) == key
    assert parse_key(shown_key(key)) == key


def test_what_cannot_be_done_says_why() -> None:
    assert unmet(BY_NAME["remedy"], {"idle"}) == REASONS["remedy"]
    assert "x cancels it" in Keymap().told(REASONS["idle"])
    assert "F5 sends the request" in Keymap({"send": ["F5"]}).told(REASONS["answer"])
    assert unmet(BY_NAME["remedy"], {"idle", "remedy"}) == ""


def test_readme_lists_the_keys_as_they_are() -> None:
    readme = README.read_text(encoding="utf-8")
    assert with_key_list(readme) == readme, "run: python -m llmdebug.tui.keylist README.md"


def test_the_list_needs_its_section() -> None:
    assert key_list() in with_key_list(f"a {BEGIN} old {END} b")
    with pytest.raises(ValueError, match="no section"):
        with_key_list("nothing")
