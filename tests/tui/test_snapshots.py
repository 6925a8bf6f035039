"""The main states as text, at the two sizes that matter; LLMDEBUG_WRITE_SNAPSHOTS=1 writes them anew."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from screen_fakes import Driven, FakeSession, answer, diagnosis, driven, request

from llmdebug.http.exchange import Request

FOLDER = Path(__file__).parent / "snapshots"
SIZES = [(80, 24), (120, 40)]
BODY = b'{"model": "m", "prompt_token_ids": [1008, 5072, 16331], "max_tokens": 24, "temperature": 0}'
REFUSAL = b'{"object": "error", "message": "body.prompt: Field required", "type": "Bad Request", "code": 400}'
ANSWER = (
    b'{"id": "cmpl-1", "choices": [{"index": 0, "text": " there was a girl.", "finish_reason": "stop"}],'
    b' "usage": {"prompt_tokens": 3, "completion_tokens": 5}}'
)


def requests() -> list[Request]:
    chat = b'{"model": "m", "messages": [{"role": "user", "content": "Hello"}]}'
    return [request(BODY, "prompt-token-ids"), request(chat, "chat"), request(b"", "models", method="GET")]


async def _refused(app: Driven) -> None:
    await app.press("s")
    await app.shows("1 send the ids")


async def _applied(app: Driven) -> None:
    await _refused(app)
    await app.press("1")
    await app.shows("Remedy 1")


async def _confirmed(app: Driven) -> None:
    await _applied(app)
    await app.press("s")
    await app.shows("Confirmed by experiment")


async def _editing(app: Driven) -> None:
    await _refused(app)
    await app.press("e")
    await app.until(lambda: app.main.editor is not None)
    await app.press("x")
    await app.shows("body line 1, column 1")


async def _help(app: Driven) -> None:
    await app.press("question_mark")
    await app.shows("Help: keys")


async def _list(app: Driven) -> None:
    await app.press("p", "j")


STATES: dict[str, Callable[[Driven], Awaitable[None]]] = {
    "refused": _refused,
    "applied": _applied,
    "confirmed": _confirmed,
    "editing": _editing,
    "help": _help,
    "list": _list,
}


@pytest.mark.parametrize("size", SIZES, ids=[f"{width}x{height}" for width, height in SIZES])
@pytest.mark.parametrize("state", STATES)
async def test_the_screen_is_as_it_was(state: str, size: tuple[int, int], tree: Path) -> None:
    session = FakeSession([answer(400, REFUSAL), answer(200, ANSWER, reason="OK")], [diagnosis()], tree)
    async with driven(session, *requests(), size=size) as app:
        await STATES[state](app)
        shown = app.screen() + "\n"
    file = FOLDER / f"{state}-{size[0]}x{size[1]}.txt"
    if os.environ.get("LLMDEBUG_WRITE_SNAPSHOTS"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8")
