"""The tokens of a request on the screen."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from screen_fakes import driven, request

from llmdebug.debugger.session import Session
from llmdebug.demo.server import DemoServer
from llmdebug.http.exchange import Exchange, Request
from llmdebug.tokens.prompts import Budget, Prompt
from llmdebug.tokens.report import PromptTokens, TokenReport
from llmdebug.tokens.values import Cells, Difference, Reading, TemplateFault
from llmdebug.tui.views.rows import plain
from llmdebug.tui.views.tokencells import MODES, CellRows, ShownCells, ShownReport
from llmdebug.tui.worksheet import Entry


def cells(*pieces: tuple[int, bytes, str]) -> Cells:
    return Cells(
        tuple(id_ for id_, _, _ in pieces), tuple(p for _, p, _ in pieces), "".join(mark for _, _, mark in pieces)
    )


CELLS = cells(
    (1, b"The", "t"), (2, b" Queen\n", "t"), (3, b"\xc3", "p"), (4, b"\xb6", "p"), (0, b"<s>", "s"), (99, b"", "o")
)


def lines(rows: CellRows) -> list[str]:
    return [plain(rows.row(index)) for index in range(len(rows))]


def test_cells_flow_break_and_show_what_they_are() -> None:
    shown = ShownCells(CELLS)
    assert lines(CellRows(shown, 80, "text")) == ["The·Queen⏎", "\\xc3\\xb6<s>⟨99⟩"]
    assert lines(CellRows(shown, 80, "ids")) == ["1 2 3 4 0 99 "]
    assert lines(CellRows(shown, 5, "ids")) == ["1 2 ", "3 4 ", "0 99 "]
    listed = lines(CellRows(shown, 80, "list"))
    assert listed[1] == "1         2  ·Queen⏎" and listed[5].split() == ["5", "99", "no", "token"]
    roles = [span.role for span in CellRows(shown, 80, "text").row(1)]
    assert roles == ["warning", "warning", "accent", "error"]


def test_neighbours_differ_in_colour() -> None:
    row = CellRows(ShownCells(cells((1, b"a", "t"), (1, b"a", "t"))), 80, "text").row(0)
    assert row[0].role != row[1].role


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("width", [1, 7, 80])
def test_no_token_is_lost_and_none_is_twice(mode: str, width: int) -> None:
    many = cells(*((n, b" t%d" % n, "t") for n in range(300)))
    rows = CellRows(ShownCells(many), width, mode)  # type: ignore[arg-type]
    assert [rows.place(index) for index in range(len(rows))] == sorted({rows.place(i) for i in range(len(rows))})
    joined = "".join(lines(rows))
    assert all((f"{n}" if mode == "ids" else f"·t{n}") in joined for n in range(300))


def test_a_search_finds_a_row() -> None:
    rows = CellRows(ShownCells(cells(*((n, b" t%d" % n, "t") for n in range(300)))), 20, "text")
    found = rows.find(" t250", 0, 1)
    assert found is not None and "·t250" in plain(rows.row(found))
    assert rows.find("nowhere", 0, 1) is None


def test_a_report_tells_counts_faults_and_differences() -> None:
    prompt = PromptTokens(
        prompt=Prompt(pointer="/prompt/0", form="ids"),
        reading=Reading(text="x", cells=CELLS, difference=Difference(2, "id", "3", "")),
        notes=("The server's own tokens differ.",),
    )
    fault = TemplateFault(message="roles\x1b must alternate", line=6, source="{{ raise }}", index=1)
    refused = PromptTokens(prompt=Prompt(pointer="/messages/1", form="chat"), fault=fault)
    report = TokenReport(
        prompts=(prompt, refused), budget=Budget("/max_tokens", 5), limit=10, notes=("Not looked at.",)
    )
    rows = ShownReport(report).rows(200, "text")
    told = [plain(rows.row(index)) for index in range(len(rows))]
    assert told.pop(0) == "Not looked at."
    assert told[0] == "/prompt/0: 6 tokens, 60.0% of the context of 10; with /max_tokens 11: 1 too many"
    assert told[1] == "Out of the vocabulary: 99 at position 5."
    assert told[2] == "Converted there and back, id 2 differs: 3 became nothing."
    assert told[3] == "The server's own tokens differ."
    assert told[-2:] == [
        "/messages/1: the chat template refuses: roles␛ must alternate",
        "line 6 of the template: {{ raise }}",
    ]


def of_demo(server: DemoServer, body: dict[str, object], path: str = "/v1/completions") -> Request:
    return request(json.dumps({"model": "alice", **body}).encode(), url=server.base_url + path)


async def test_tokens_are_shown_turned_and_converted(nanoserve: DemoServer) -> None:
    session = Session(base_url=nanoserve.base_url, sources=[nanoserve.source], keep=False)
    async with driven(session, of_demo(nanoserve, {"prompt": [361, 836, 603]}), base_url=nanoserve.base_url) as app:
        await app.press("number_sign")
        await app.shows("3 tokens, 1.2% of the context of 256")
        assert "The·White·Rabbit" in app.screen()
        await app.press("t")
        await app.shows("361 836 603")
        await app.press("t")
        await app.shows("1       836  ·White")
        await app.press("c")
        await app.shows('"prompt": "The White Rabbit"')
        assert "Converted back it is what was sent." in app.message()
        await app.press("number_sign")
        await app.shows("The·White·Rabbit")
        await app.press("c")
        await app.shows("603")
        assert '"The White Rabbit"' not in app.screen()


async def test_the_server_is_asked_for_its_tokens_by_a_key_only(
    nanoserve: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it takes its time the local tokens stay on the screen."""
    session = Session(base_url=nanoserve.base_url, sources=[nanoserve.source], keep=False)
    asked, going_on = [], asyncio.Event()
    fetch = session.fetch

    async def slow(request: Request) -> Exchange:
        asked.append(request.url)
        await going_on.wait()
        return await fetch(request)

    monkeypatch.setattr(session, "fetch", slow)
    async with driven(session, of_demo(nanoserve, {"prompt": "The Queen"}), base_url=nanoserve.base_url) as app:
        await app.press("number_sign")
        await app.shows("The·Queen")
        assert not asked
        await app.press("equals_sign")
        await app.shows("Asking the server for the tokens of /prompt…")
        assert "The·Queen" in app.screen() and asked == [nanoserve.base_url + "/tokenize"]
        going_on.set()
        await app.shows("The server's own tokens are the same.")


async def test_another_tokenizer_is_used_or_its_problem_told(
    nanoserve: DemoServer, folders: dict[str, Path], tmp_path: Path
) -> None:
    session = Session(base_url=nanoserve.base_url, keep=False)
    async with driven(session, of_demo(nanoserve, {"prompt": "Alice"}), base_url=nanoserve.base_url) as app:
        await app.press("number_sign")
        await app.shows("of the context of 256")
        for name, told in ((str(folders["unigram"]), "500 ids of"), (str(tmp_path), "it would hold a tokenizer.json")):
            await app.press("L", "ctrl+u", *name, "enter")
            await app.shows(told)
        await app.press("escape")
        await app.until(lambda: app.app.screen is app.main)


async def test_a_tokenizer_that_was_given_at_the_start_is_used(folders: dict[str, Path]) -> None:
    session = Session(base_url="http://127.0.0.1:9", keep=False, probing=False)
    opened = {"base_url": "http://127.0.0.1:9", "tokenizer": str(folders["unigram"]), "probe": False}
    async with driven(session, request(b'{"prompt": "Alice"}'), **opened) as app:  # type: ignore[arg-type]
        await app.press("number_sign")
        await app.shows("500 ids of")


ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


@pytest.mark.parametrize("waits", [True, False])
async def test_an_endless_template_is_told_of_and_stopped_or_left(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, waits: bool
) -> None:
    """Leaving ends the process that it runs in."""
    monkeypatch.setattr("llmdebug.tokens.process.RENDER_S", 0.3 if waits else 300.0)
    body = json.dumps({"messages": [{"role": "user", "content": "x"}], "chat_template": ENDLESS}).encode()
    session = Session(base_url="http://127.0.0.1:9", keep=False, probing=False)
    opened = {"base_url": "http://127.0.0.1:9", "tokenizer": str(folders["byte_level"]), "probe": False}
    async with driven(session, request(body), **opened) as app:  # type: ignore[arg-type]
        await app.press("number_sign")
        if waits:
            await app.shows("the chat template does not end: it was stopped after 0.3 s")
            return
        await app.shows("rendering the chat template, chat_template of the request…")
        local = app.main.tokens._local if app.main.tokens is not None else None
        await app.press("escape")
        await app.until(lambda: app.app.screen is app.main and local is not None and not local.is_alive)


async def test_ids_without_a_token_are_held_back_once(nanoserve: DemoServer) -> None:
    session = Session(base_url=nanoserve.base_url, sources=[nanoserve.source], keep=False)
    async with driven(session, of_demo(nanoserve, {"prompt": [1, 9999]}), base_url=nanoserve.base_url) as app:
        await app.press("s")
        await app.shows("s sends it all the same")
        assert app.message().startswith(
            "! Not sent: /prompt holds ids out of the vocabulary of 1,536: 9999 at position 1"
        )
        await app.press("s")
        await app.shows("422")
        await app.shows("leave out the id that has no token")


async def test_remedies_with_ids_without_a_token_are_sent_when_asked_twice(nanoserve: DemoServer) -> None:
    session = Session(base_url=nanoserve.base_url, sources=[nanoserve.source], keep=False)
    body = {"prompt_token_ids": [361, 99999, 603], "max_tokens": 4}
    async with driven(session, of_demo(nanoserve, body), base_url=nanoserve.base_url) as app:
        await app.press("s")
        await app.shows("s sends it all the same")
        await app.press("s")
        await app.shows("without the ids that have no token")
        await app.press("tab", "tab", "R")
        await app.until(lambda: "Not sent, as they hold ids without a token" in app.message())
        assert app.message().count("R once more sends them.") == 1
        await app.press("R")
        told = "Remedies tried. Answered: 6; refused for another reason: 4 (out of range), 5 (out of range)."
        await app.until(lambda: app.message() == told)


def summary_of(entry: Entry) -> str:
    return entry.diagnosis.summary if entry.diagnosis is not None else ""


async def test_the_refusal_of_a_template_is_weighed(nanoserve: DemoServer) -> None:
    user = {"role": "user", "content": "Hello"}
    session = Session(base_url=nanoserve.base_url, sources=[nanoserve.source], keep=False)
    chat = of_demo(nanoserve, {"messages": [user, user]}, "/v1/chat/completions")
    async with driven(session, chat, base_url=nanoserve.base_url) as app:
        await app.press("s")
        await app.shows("bad_value")
        await app.press("tab", "tab", "t")
        await app.until(lambda: app.main.entry is not None and summary_of(app.main.entry).startswith("/messages/1"))
        await app.shows("[trail]")
        await app.press("t")
        await app.shows("/messages/1 is refused by the chat")
