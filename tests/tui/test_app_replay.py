"""Stepping through a recording on the screen, against the demo's server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from recorded_pipeline import BAD, GOOD, NO_MODEL, har
from screen_fakes import Driven
from textual import events

from llmdebug.demo.server import DemoServer
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.recording.history import History
from llmdebug.tui.app import DebuggerApp
from llmdebug.tui.opening import Opening, opened


@asynccontextmanager
async def replaying(
    server: DemoServer, file: str, *, size: tuple[int, int] = (120, 40), linked: bool = True
) -> AsyncIterator[Driven]:
    sources = (str(server.source),) if linked else ()
    opening, worksheet, problem = opened(
        Opening(base_url=server.base_url, sources=sources, file=file, probe=False), environment={}
    )
    assert problem == ""
    app = DebuggerApp(opening, theme="dark", worksheet=worksheet)
    async with app.run_test(size=size) as pilot:
        driven = Driven(app, pilot)
        await driven.until(lambda: app.main.stepper is not None)
        yield driven


async def ask(app: Driven, key: str, text: str) -> None:
    await app.press(key)
    await app.pilot.press(
        *[{" ": "space", "~": "tilde", ">": "greater_than_sign", "=": "equals_sign"}.get(c, c) for c in text]
    )
    await app.press("enter")


def at(app: Driven) -> int:
    assert app.main.stepper is not None
    return app.main.stepper.at


async def test_steps_are_listed_as_they_were_recorded(tmp_path: Path, nanoserve: DemoServer) -> None:
    async with replaying(nanoserve, har(tmp_path, GOOD, BAD)) as app:
        await app.shows("Steps")
        await app.shows("▸→ 1 200")
        await app.shows("recorded: 200")
        await app.shows('"as": "recorded"')


async def test_a_step_is_sent_and_the_next_one_waits(tmp_path: Path, nanoserve: DemoServer) -> None:
    async with replaying(nanoserve, har(tmp_path, BAD, GOOD)) as app:
        await app.press("n")
        await app.shows("changed, was 200: 400")
        await app.shows("declares CompletionRequest.prompt")
        assert at(app) == 1
        await app.shows("400 ≠")
        await app.press("n")
        await app.shows("200 OK")
        await app.until(lambda: at(app) == 2)
        await app.press("n")
        assert "All steps are done" in app.message()


async def test_it_continues_to_a_breakpoint_is_edited_and_sent_again(tmp_path: Path, nanoserve: DemoServer) -> None:
    async with replaying(nanoserve, har(tmp_path, GOOD, GOOD, BAD, GOOD)) as app:
        await ask(app, "b", "status >= 400")
        assert "Break when status >= 400." in app.message()
        await app.press("c")
        await app.shows("changed, was 200: 400")
        await app.shows("declares CompletionRequest.prompt")
        assert (at(app), app.main.worksheet.current) == (3, 2)
        entry = app.main.entry
        assert entry is not None
        await app.press("e")
        assert app.main.editor is not None
        app.main.editor.text = app.main.editor.text.replace('"prompt_token_ids": [1]', '"prompt": "Once"')
        await app.press("ctrl+r")
        await app.shows("200 OK")
        assert at(app) == 3, "what is sent again moves nothing"
        stepper = app.main.stepper
        assert stepper is not None
        assert [one.row.status for one in stepper.attempts.of(2)] == [400, 200]
        assert "changed, was" not in app.screen()
        await app.press("c")
        await app.until(lambda: at(app) == 4)
        await app.shows("All steps are done.")


async def test_marks_run_to_here_skip_and_restart(tmp_path: Path, nanoserve: DemoServer) -> None:
    async with replaying(nanoserve, har(tmp_path, GOOD, GOOD, GOOD, GOOD), linked=False) as app:
        await app.press("p", "j", "b", "enter")
        await app.shows("●")
        await app.press("c")
        await app.shows("Stopped before step 2")
        await app.press("S")
        assert at(app) == 2
        await app.press("G", "r")
        await app.shows("Stopped before step 4")
        assert at(app) == 3
        await app.press("B")
        assert (at(app), app.main.worksheet.current) == (0, 0)
        assert len(app.main.stepper.attempts) == 0  # type: ignore[union-attr]


async def test_refusals_are_gathered_and_gone_to(tmp_path: Path, nanoserve: DemoServer) -> None:
    async with replaying(nanoserve, har(tmp_path, GOOD, BAD, NO_MODEL, BAD)) as app:
        await app.press("n")
        await app.until(lambda: at(app) == 1)
        await app.press("n")
        await app.until(lambda: at(app) == 2)
        await app.press("c")
        await app.shows("All steps are done.")
        await app.press("f")
        await app.shows("Refusals  3 of 4 steps")
        await app.shows("2 refused at protocol.py:")
        await app.press("j", "enter")
        await app.until(lambda: app.main.worksheet.current == 2)


async def test_the_list_is_filtered_by_a_condition(tmp_path: Path, nanoserve: DemoServer) -> None:
    async with replaying(nanoserve, har(tmp_path, GOOD, BAD, GOOD, BAD), linked=False) as app:
        await app.press("c")
        await app.shows("All steps are done.")
        await ask(app, "F", "changed")
        await app.shows("2 of 4 steps: changed")
        await app.press("j", "enter")
        assert app.main.worksheet.current == 3
        await ask(app, "F", "stat")
        await app.shows("column 1: expected a fact")
        await app.shows("list where (empty: all) changedstat")
        await app.press("q")
        assert "column 1" not in app.screen(), "what is typed on goes into the line, and its complaint is over"
        question = app.main.bottom.question
        assert question is not None and question.text == "changedstatq"
        await app.press("ctrl+u", *"changed", "enter")
        await app.shows("2 of 4 steps: changed")


async def test_a_wrong_breakpoint_leaves_the_line_open(tmp_path: Path, nanoserve: DemoServer) -> None:
    async with replaying(nanoserve, har(tmp_path, GOOD), linked=False) as app:
        await ask(app, "b", "latency > 2")
        await app.shows("column 11: expected a time with its unit")
        assert app.main.stepper is not None
        assert not app.main.stepper.breakpoints
        await app.press("s", "enter")
        assert "Break when latency > 2s." in app.message()
        await ask(app, "b", "latency > 3")
        await app.press("escape")
        assert app.main.bottom.question is None
        assert len(app.main.stepper.breakpoints) == 1


@pytest.fixture
def slow_server() -> Iterator[DemoServer]:
    with DemoServer(token_interval=0.05) as server:
        yield server


async def test_more_than_100_are_asked_for_and_cancelled(tmp_path: Path, slow_server: DemoServer) -> None:
    async with replaying(slow_server, har(tmp_path, *[GOOD] * 150), linked=False) as app:
        await app.press("c")
        await app.shows("send 150 requests?")
        await app.press("n", "enter")
        assert "Nothing was sent" in app.message()
        await app.press("c", "y", "enter")
        await app.until(lambda: at(app) > 2)
        await app.shows("replaying")
        await app.press("x")
        await app.shows("What was answered is kept.")
        assert 2 < at(app) < 150
        assert app.main.sending is None


async def test_it_stops_inside_a_stream(tmp_path: Path, slow_server: DemoServer) -> None:
    streamed = {**GOOD, "max_tokens": 16, "stream": True}
    async with replaying(slow_server, har(tmp_path, streamed, GOOD), linked=False) as app:
        await ask(app, "b", "events >= 2")
        await app.press("c")
        await app.shows("Stopped inside the stream of step 1: events >= 2; step 2 is next.")
        entry = app.main.entry
        assert entry is not None
        assert entry.exchange is not None
        assert entry.exchange.response is not None
        assert 2 <= len(entry.exchange.response.events) < 16
        await app.shows("Stopped at events >= 2, behind event 2 of the stream")


async def test_steps_wait_as_they_were_recorded_when_asked_to(tmp_path: Path, nanoserve: DemoServer) -> None:
    async with replaying(nanoserve, har(tmp_path, GOOD), linked=False) as app:
        stepper = app.main.stepper
        assert stepper is not None
        paces = []
        for told in ("as they did when they were recorded", "without a pause"):
            await app.press("P")
            assert told in app.message()
            paces.append(stepper.pace)
        assert paces == ["recorded", "none"]


def spoilt(file: str) -> str:
    """The first request's method is none."""
    text = Path(file).read_text()
    Path(file).write_text(text.replace('"method": "POST"', '"method": "P OST"', 1))
    return file


async def test_an_entry_that_cannot_be_sent_is_told_and_passed_over(tmp_path: Path, nanoserve: DemoServer) -> None:
    async with replaying(nanoserve, spoilt(har(tmp_path, GOOD, GOOD)), linked=False) as app:
        await app.shows("1 of 2 entries cannot be sent")
        await app.press("n")
        assert "entry 1: The method 'P OST' is no HTTP method." in app.message()
        assert at(app) == 1
        await app.press("n")
        await app.shows("200 OK")


async def test_an_earlier_replay_is_taken_up(tmp_path: Path, nanoserve: DemoServer) -> None:
    file = har(tmp_path, GOOD, BAD, GOOD)
    async with replaying(nanoserve, file, linked=False) as app:
        await app.press("n")
        await app.until(lambda: at(app) == 1)
        await app.press("n")
        await app.until(lambda: at(app) == 2)
    async with replaying(nanoserve, file, linked=False) as app:
        await app.press("C")
        await app.shows("2 steps were answered; step 3 is next.")
        assert at(app) == 2
        await app.press("left_square_bracket")
        await app.shows("changed, was 200: 400")


async def test_the_history_is_searched_and_opened(tmp_path: Path, nanoserve: DemoServer) -> None:
    with History() as history:
        for number, status in enumerate((200, 404)):
            request = Request(method="POST", url=f"http://old.test/{number}", body=b"{}")
            history.record(Exchange(request=request, response=Response(status=status, body=b"{}")))
    async with replaying(nanoserve, har(tmp_path, GOOD), linked=False) as app:
        await app.press("H")
        await app.shows("History  2 exchanges")
        await ask(app, "F", "status >= 400")
        await app.shows("1 of 2: status >= 400")
        await app.press("enter")
        await app.shows("POST /1")
        await app.shows("recorded: 404")


async def test_an_expression_that_takes_too_long_is_told_and_the_list_stays(
    tmp_path: Path, nanoserve: DemoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llmdebug.debugger.condition.MATCH_SECONDS", 0.01)
    slow, body = 'request ~ "(a|a)*Z|zz$"', {**GOOD, "prompt": "a" * 80}
    with History() as history:
        request = Request(method="POST", url="http://old.test/1", body=b"a" * 80)
        history.record(Exchange(request=request, response=Response(status=200, body=b"{}")))
    async with replaying(nanoserve, har(tmp_path, body, body), linked=False) as app:
        await ask(app, "F", slow)
        await app.shows("took too long at step 1: write it without nested repeats")
        assert app.main.steps is not None and app.main.steps.shown is None
        await app.press("H")
        await app.shows("History  1 exchanges")
        await ask(app, "F", slow)
        await app.shows("took too long at step 1: write it without nested repeats")
        await app.shows("History  1 of 1 exchanges")


async def test_several_pasted_curl_commands_stand_behind_the_steps(tmp_path: Path, nanoserve: DemoServer) -> None:
    async with replaying(nanoserve, har(tmp_path, GOOD), linked=False) as app:
        app.main.on_paste(events.Paste(f"curl {nanoserve.base_url}/v1/models\ncurl {nanoserve.base_url}/health"))
        await app.shows("and 1 more")
        assert (len(app.main.worksheet.entries), app.main.worksheet.current) == (3, 1)
        await app.press("s")
        await app.shows("200 OK")


async def test_without_a_recording_the_keys_say_why(nanoserve: DemoServer) -> None:
    opening, worksheet, _ = opened(Opening(base_url=nanoserve.base_url, probe=False), environment={})
    async with DebuggerApp(opening, theme="dark", worksheet=worksheet).run_test() as pilot:
        await pilot.press("n")
        await pilot.pause()
        assert "no recording is open" in "".join(span.text for span in pilot.app.main.bottom.message)  # type: ignore[attr-defined]


async def test_a_secret_that_is_not_sent_to_another_host_is_told(tmp_path: Path, nanoserve: DemoServer) -> None:
    file = Path(har(tmp_path, {**GOOD, "api_key": "sk-body77"}, GOOD))
    async with replaying(nanoserve, str(file)) as app:
        await app.press("n")
        await app.shows("api_key left out for 127.0.0.1")


async def test_each_attempt_of_a_step_comes_back_as_it_was(tmp_path: Path, nanoserve: DemoServer) -> None:
    async with replaying(nanoserve, har(tmp_path, BAD, GOOD)) as app:
        await app.press("A")
        assert "this step has no other attempt" in app.message()
        await app.press("n")
        await app.shows("declares CompletionRequest.prompt")
        await app.press("e")
        assert app.main.editor is not None
        app.main.editor.text = app.main.editor.text.replace('"prompt_token_ids": [1]', '"prompt": "Once"')
        await app.press("ctrl+r")
        await app.shows("attempt 2 of 2: 200 OK")
        await app.press("A")
        await app.shows("attempt 1 of 2: changed, was 200: 400")
        await app.shows("prompt_token_ids")
        await app.shows("declares CompletionRequest.prompt")
        await app.press("A")
        await app.shows("recorded: 200")
        await app.press("A")
        await app.shows("attempt 2 of 2: 200 OK")
        await app.shows('"prompt": "Once"')


async def test_undo_of_a_step_shows_the_answer_of_that_request(tmp_path: Path, nanoserve: DemoServer) -> None:
    async with replaying(nanoserve, har(tmp_path, BAD, GOOD)) as app:
        await app.press("n")
        await app.shows("declares CompletionRequest.prompt")
        await app.press("e")
        assert app.main.editor is not None
        app.main.editor.text = app.main.editor.text.replace('"prompt_token_ids": [1]', '"prompt": "Once"')
        await app.press("ctrl+r")
        await app.shows("attempt 2 of 2: 200 OK")
        await app.press("u")
        await app.shows("attempt 1 of 2: changed, was 200: 400")
        assert "older edit" not in app.screen()
