"""The founding story and the acts around it, by keys, against a debugger that a test controls."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from screen_fakes import FakeSession, answer, diagnosis, driven, request, stream
from textual.events import Paste

from llmdebug.debugger.session import SessionError
from llmdebug.diagnosis.verdict import NO_TREE
from llmdebug.http.exchange import Failure


async def test_send_diagnose_remedy_confirm(tree: Path) -> None:
    session = FakeSession([answer(), answer(200, b'{"ok": true}', reason="OK")], [diagnosis()], tree)
    async with driven(session, request()) as app:
        assert "POST /v1/completions" in app.screen()
        await app.press("s")
        await app.shows("400 Bad Request")
        await app.shows("server.py:3 declares CompletionRequest.prompt")
        await app.shows("3 ▶     prompt: str | list[int]")
        assert '?   "prompt_token_ids"' in app.screen()
        assert "✗ {" in app.screen()
        assert "1 send the ids as prompt" in app.screen()
        await app.press("1")
        await app.shows('"prompt": [1, 2]')
        assert "older edit" in app.screen()
        assert len(session.sent) == 1, "a remedy is sent by another key"
        await app.press("s")
        await app.shows("Confirmed by experiment")
        await app.shows("200 OK")
        assert session.sent[1].body == b'{"model":"m","prompt":[1,2]}'
        assert "✗ {" not in app.screen()


async def test_a_refuted_remedy_shows_the_next_diagnosis(tree: Path) -> None:
    following = diagnosis(summary="/n is too large.", kind="out_of_range", fields=(), ignored=(), remedies=())
    session = FakeSession([answer(), answer(422)], [diagnosis(), following], tree)
    async with driven(session, request()) as app:
        await app.press("s")
        await app.shows("1 send the ids")
        await app.press("1", "s")
        await app.shows("Refuted")
        await app.shows("/n is too large.")


async def test_a_remedy_that_meets_another_refusal_settles(tree: Path) -> None:
    following = diagnosis(summary="/n is too large.", kind="out_of_range", fields=(), ignored=(), remedies=())
    session = FakeSession([answer(), answer(422)], [diagnosis(), following], tree, refused_again="settled")
    async with driven(session, request()) as app:
        await app.press("s")
        await app.shows("1 send the ids")
        await app.press("1", "s")
        await app.shows("→ Settled")
        await app.shows("/n is too large.")
        assert "Refuted" not in app.screen()


async def test_a_remedy_of_several_requests_is_a_fan_out(tree: Path) -> None:
    session = FakeSession([answer(), answer(200, b"{}"), answer(200, b"{}")], [diagnosis()], tree)
    async with driven(session, request()) as app:
        await app.press("s")
        await app.shows("2 one request a prompt")
        await app.press("2")
        await app.until(lambda: len(app.main.worksheet.entries) == 3)
        await app.press("s")
        await app.shows("Confirmed by experiment")
        assert [sent.body for sent in session.sent[1:]] == [b'{"prompt":1}', b'{"prompt":2}']


async def test_advice_for_the_server_is_not_sent(tree: Path) -> None:
    session = FakeSession([answer()], [diagnosis()], tree)
    async with driven(session, request()) as app:
        await app.press("s")
        await app.shows("1 send the ids")
        await app.press("3")
        assert "no remedy 3" in app.message()
        assert len(session.sent) == 1


async def test_waiting_shows_the_time_and_is_cancelled() -> None:
    forever = asyncio.Event()

    async def never(_on_event: object) -> object:
        await forever.wait()
        raise AssertionError

    session = FakeSession([never])
    async with driven(session, request()) as app:
        await app.press("s")
        await app.shows("waiting for the model")
        await app.press("s")
        assert "under way" in app.message()
        await app.press("x")
        await app.shows("Cancelled")
        assert session.cancelled
        assert app.main.sending is None


async def test_a_stream_is_shown_as_it_comes_and_as_events() -> None:
    more = asyncio.Event()

    async def streamed(on_event: object) -> object:
        events = stream("Hello", ", ", "world")
        on_event(events[0])  # type: ignore[operator]
        await more.wait()
        return answer(200, b"data: ...", events=events)

    session = FakeSession([streamed])
    async with driven(session, request()) as app:
        await app.press("s")
        await app.shows("Hello")
        assert "world" not in app.screen()
        more.set()
        await app.shows("Hello, world")
        await app.press("tab", "t")
        await app.shows("0.200")
        assert "+  100 ms" in app.screen()


async def test_no_answer_is_a_sentence_beside_the_request() -> None:
    session = FakeSession([Failure(kind="refused", message="server.test:80 refused the connection.")])
    async with driven(session, request()) as app:
        await app.press("s")
        await app.shows("✗ server.test:80 refused the")
        assert "prompt_token_ids" in app.screen()


async def test_an_error_of_the_debugger_is_told_and_stops_nothing() -> None:
    session = FakeSession([SessionError("The request needs KEY, a secret."), answer(200, b"{}")])
    async with driven(session, request()) as app:
        await app.press("s")
        await app.shows("The request needs KEY, a secret.")
        await app.press("s")
        await app.shows("200")


async def test_a_diagnosis_that_fails_is_told_in_its_pane() -> None:
    session = FakeSession([answer()])

    async def failing(*_: object, **__: object) -> object:
        raise AttributeError("no such thing")

    session.diagnose = failing  # type: ignore[method-assign,assignment]
    async with driven(session, request()) as app:
        await app.press("s")
        await app.shows("This answer is not diagnosed: an error of llmdebug itself")
        assert "Nothing is wrong" not in app.screen()
        del session.diagnose
        await app.press("s")
        await app.shows("Nothing is wrong with this answer.")


async def test_the_list_tells_which_key_chooses() -> None:
    async with driven(FakeSession(), request(), request(name="other")) as app:
        await app.press("p")
        await app.shows("Enter choose")


async def test_editing_validates_keeps_and_marks_the_answer_as_older(tree: Path) -> None:
    session = FakeSession([answer()], [diagnosis()], tree)
    async with driven(session, request()) as app:
        await app.press("s")
        await app.shows("Diagnosis  missing_field")
        await app.press("e")
        await app.until(lambda: app.main.editor is not None)
        editor = app.main.editor
        assert editor is not None
        editor.move_cursor((4, 0))
        await app.press("s")
        assert len(session.sent) == 1, "letters are typed, they do not act"
        await app.shows("body line 2, column 1")
        await app.press("backspace")
        await app.until(lambda: app.main.request.problem == "")
        editor.text = 'POST /v1/completions\nX-Test: 1\n\n{"prompt": "x"}'
        await app.press("escape")
        await app.until(lambda: app.main.editor is None)
        entry = app.main.entry
        assert entry is not None
        assert entry.request.body == b'{"prompt": "x"}'
        assert entry.request.headers == (("X-Test", "1"),)
        assert "older edit" in app.screen()
        await app.press("u")
        assert entry.request == entry.sent


async def test_leaving_a_broken_request_line_is_refused_with_its_line() -> None:
    async with driven(FakeSession(), request()) as app:
        await app.press("e")
        await app.until(lambda: app.main.editor is not None)
        assert app.main.editor is not None
        app.main.editor.text = "nonsense\n\n{}"
        await app.press("escape")
        await app.shows("not left: line 1")
        assert app.main.editor is not None


async def test_append_turn_opens_the_next_one() -> None:
    said = b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi."}}]}'
    chat = request(b'{"model": "m", "messages": [{"role": "user", "content": "Hello"}]}', "chat")
    async with driven(FakeSession([answer(200, said)]), chat) as app:
        await app.press("a")
        assert "no answer yet" in app.message()
        await app.press("s")
        await app.shows("Hi.")
        await app.press("a")
        await app.until(lambda: app.main.editor is not None)
        await app.press("O", "K")
        await app.press("escape")
        entry = app.main.entry
        assert entry is not None
        assert b'"assistant"' in entry.request.body
        assert b'"OK"' in entry.request.body
        assert len(app.main.worksheet.entries) == 2


async def test_linking_a_source_diagnoses_again(tree: Path) -> None:
    session = FakeSession([answer()], [diagnosis(sites=(), related=(), notes=(NO_TREE,)), diagnosis()])
    async with driven(session, request()) as app:
        await app.press("s")
        await app.shows("No source is linked: L links")
        assert "--source" not in app.screen(), "told once, as the screen does it"
        await app.press("L")
        await app.press(*"/nowhere", "enter")
        await app.shows("there is no such folder")
        await app.press("L")
        app.main.bottom.paste(str(tree))
        await app.press("enter")
        await app.shows("server.py:3")


async def test_the_source_is_viewed_and_searched(tree: Path) -> None:
    session = FakeSession([answer()], [diagnosis()], tree)
    async with driven(session, request()) as app:
        await app.press("v")
        assert "no place" in app.message()
        await app.press("s")
        await app.shows("server.py:3")
        await app.press("v")
        await app.shows("▶     prompt: str | list[int]")
        await app.shows("# line 12")
        await app.press("slash", *"line 70", "enter")
        await app.shows("# line 70")
        await app.press("escape")
        await app.press("escape")
        await app.shows("Diagnosis")


async def test_trail_and_zoom(tree: Path) -> None:
    session = FakeSession([answer()], [diagnosis()], tree)
    async with driven(session, request()) as app:
        await app.press("s")
        await app.shows("server.py:3")
        await app.press("tab", "tab", "t")
        await app.shows("symptom  400")
        await app.press("z")
        assert "POST" not in app.screen()
        await app.press("z")
        assert "POST" in app.screen()


@pytest.mark.parametrize(
    ("pasted", "shown"),
    [
        ("curl http://other.test/v1/chat/completions -d '{\"a\": 1}'", "POST http://other.test/v1/chat/completions"),
        ('{"model": "m", "prompt": "new"}', '"prompt": "new"'),
        ("Error code: 400 - {'error': {'message': 'Field required'}}", "400"),
        ("neither of them", "nothing was changed"),
    ],
)
async def test_a_paste_is_understood(pasted: str, shown: str) -> None:
    from textual.events import Paste

    async with driven(FakeSession([], [diagnosis()]), request()) as app:
        app.main.post_message(Paste(pasted))
        await app.shows(shown)


async def test_a_pasted_log_is_read_beside_the_answer() -> None:
    from textual.events import Paste

    log = 'Traceback (most recent call last):\n  File "/a/b.py", line 1, in f\n    x\nKeyError: 0'
    session = FakeSession([answer(500, b"Internal Server Error")], [diagnosis(), diagnosis()])
    async with driven(session, request()) as app:
        app.main.post_message(Paste(log))
        await app.shows("sends the request that it is about")
        await app.press("s")
        await app.shows("500")
        app.main.post_message(Paste(log))
        await app.shows("Pasted as the server's log")
        await app.until(lambda: session.logs == ["", log])


async def test_saving_asks_where_and_says_so(tmp_path: Path) -> None:
    secret = request(headers=(("Authorization", "Bearer sk-very-secret-key"), ("Content-Type", "application/json")))
    async with driven(FakeSession(), secret) as app:
        await app.press("w")
        await app.shows("append to requests.http")
        await app.press("ctrl+u")
        app.main.bottom.paste(str(tmp_path / "saved.http"))
        await app.press("enter")
        await app.shows("Saved to")
        await app.press("w")
        await app.shows("saved.http")
        await app.press("escape")
        await app.press("w", "ctrl+u")
        app.main.bottom.paste("/no/such/folder/x.http")
        await app.press("enter")
        await app.shows("cannot be saved")
    assert "sk-very-secret-key" not in (tmp_path / "saved.http").read_text(encoding="utf-8")


async def test_the_theme_is_switched_while_running(tree: Path) -> None:
    session = FakeSession([answer()], [diagnosis()], tree)
    async with driven(session, request()) as app:
        await app.press("s")
        await app.shows("server.py:3")
        seen = set()
        for _ in range(7):
            await app.press("T")
            seen.add(app.app.colours.name)
            assert app.app.ansi_color == app.app.colours.ansi
        assert len(seen) >= 6
        await app.press("e")
        await app.until(lambda: app.main.editor is not None)
        app.app.next_theme("light")
        await app.pilot.pause()
        assert "prompt_token_ids" in app.screen()


async def test_copying_a_place_through_the_terminal(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = FakeSession([answer()], [diagnosis()], tree)
    async with driven(session, request()) as app:
        await app.press("y")
        assert "c curl" in app.screen()
        await app.press("q")
        assert app.main.is_running, "after y a key that copies nothing does nothing"
        await app.press("s")
        await app.shows("server.py:3")
        for key in ("p", "c", "b", "r", "d", "y"):
            await app.press("y", key)
            assert "OSC 52" in app.message(), key


def test_what_an_opening_comes_down_to(tmp_path: Path) -> None:
    from llmdebug.tui.opening import Opening, opened

    file = tmp_path / "a.http"
    file.write_text("GET http://other:1/v1/models\n", encoding="utf-8")
    from_environment, worksheet, problem = opened(Opening(), environment={"OPENAI_BASE_URL": "http://env/v1"})
    assert (from_environment.base_url, len(worksheet.entries), problem) == ("http://env/v1", 3, "")
    assert opened(Opening(base_url="host:8000"), environment={})[0].base_url == "http://host:8000"
    assert opened(Opening(file=str(file)), environment={})[0].base_url == "http://other:1"
    assert opened(Opening(), environment={})[1].entries == []
    assert "no such file" in opened(Opening(file="/absent.http"), environment={})[2]


async def test_undo_leads_back_through_remedies_and_pastes_also_after_sending(tree: Path) -> None:
    session = FakeSession([answer(), answer()], [diagnosis(), diagnosis()], tree)
    async with driven(session, request()) as app:
        entry = app.main.entry
        assert entry is not None
        original = entry.request
        await app.press("s")
        await app.until(lambda: entry.diagnosis is not None)
        await app.press("1", "s")
        await app.until(lambda: len(session.sent) == 2 and app.main.sending is None)
        remedy = entry.request
        assert remedy.body != original.body
        app.main.post_message(Paste('{"model": "pasted", "prompt": "x"}'))
        await app.shows("u undoes it")
        assert b"pasted" in entry.request.body
        await app.press("u")
        assert entry.request == remedy
        await app.press("u")
        assert entry.request == original
        await app.press("u")
        assert "the request is as it was" in app.message()
