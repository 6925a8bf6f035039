from __future__ import annotations

import asyncio
import errno
import json
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import pytest
from raw_server import RawServer

from llmdebug.debugger.aim import Aim
from llmdebug.debugger.attempts import Attempt
from llmdebug.debugger.condition import SlowExpressionError, parse_condition
from llmdebug.debugger.groups import groups_of
from llmdebug.debugger.recorder import NotRecordedError
from llmdebug.debugger.resume import last_run, take_up
from llmdebug.debugger.session import Session
from llmdebug.debugger.stepper import ConsentNeeded, Stepper, Stop
from llmdebug.demo.server import DemoServer
from llmdebug.formats.errors import FormatError
from llmdebug.formats.exchanges import Loaded, listed
from llmdebug.formats.lines_index import RecordedLines
from llmdebug.http.exchange import Exchange, Request, Response, Timing

JSON = (("Content-Type", "application/json"),)
GOOD = {"model": "alice", "prompt": "Once", "max_tokens": 2}
BAD = {"model": "alice", "prompt_token_ids": [1]}
NO_MODEL = {"model": "bob", "prompt": "Once"}
STREAM = {**GOOD, "max_tokens": 8, "stream": True}


def exchange(body: object, *, status: int = 200, name: str = "", at: float = 0.0) -> Exchange:
    request = Request(
        method="POST",
        url="http://recorded.test/v1/completions",
        headers=JSON,
        body=json.dumps(body).encode(),
        name=name,
    )
    return Exchange(request=request, response=Response(status=status, body=b"{}"), timing=Timing(started_at=at))


@pytest.fixture
async def session(nanoserve: DemoServer) -> AsyncIterator[Session]:
    async with Session(base_url=nanoserve.base_url, sources=[nanoserve.source]) as session:
        yield session


def stepper_of(session: Session, *bodies: object, breaks: Sequence[str] = ()) -> Stepper:
    listed = [body if isinstance(body, Exchange) else exchange(body) for body in bodies]
    stepper = Stepper(session, Loaded(listed), aim=Aim(base_url=session.base_url or ""), file="f")
    stepper.breakpoints = [parse_condition(source) for source in breaks]
    return stepper


async def step(stepper: Stepper) -> Stop:
    return await stepper.go_on(to=stepper.at + 1)


def statuses(stepper: Stepper) -> list[int | None]:
    return [attempt.row.status for attempt in stepper.attempts]


async def test_a_step_sends_one_and_tells_what_changed(session: Session) -> None:
    stepper = stepper_of(session, GOOD, BAD)
    assert (await step(stepper)).why == "here"
    assert (statuses(stepper), stepper.at) == ([200], 1)
    await step(stepper)
    assert statuses(stepper) == [200, 400]
    assert [attempt.changed for attempt in stepper.attempts] == [False, True]
    assert (await step(stepper)).why == "end"
    assert stepper.done


async def test_going_on_stops_behind_the_answer_that_meets_a_breakpoint(session: Session) -> None:
    stepper = stepper_of(session, GOOD, BAD, GOOD, breaks=["changed"])
    stop = await stepper.go_on()
    assert (stop.why, stop.at, stop.condition) == ("breakpoint", 2, "changed")
    assert (await stepper.go_on()).why == "end"
    assert statuses(stepper) == [200, 400, 200]


async def test_it_stops_before_what_the_request_alone_decides(session: Session) -> None:
    stepper = stepper_of(session, GOOD, BAD, GOOD, breaks=['request ~ "prompt_token_ids"'])
    assert ((await stepper.go_on()).at, statuses(stepper)) == (1, [200])
    assert ((await stepper.go_on()).why, stepper.at) == ("end", 3)


async def test_it_stops_before_a_marked_step_and_before_the_one_it_runs_to(session: Session) -> None:
    stepper = stepper_of(session, GOOD, GOOD, GOOD, GOOD)
    stepper.marks.add(1)
    assert (await stepper.go_on()).at == 1
    stop = await stepper.go_on(to=3)
    assert (stop.why, stop.at) == ("here", 3)
    stop = await stepper.go_on(to=2)
    assert (stop.why, stop.at, len(stepper.attempts)) == ("here", 3, 3), "a step behind it is no place to run to"


async def test_a_value_of_a_step_that_is_not_there_is_told_and_not_sent(session: Session) -> None:
    stepper = stepper_of(session, {**GOOD, "prompt": "{{zz.response.body.$.id}}"}, GOOD)
    await stepper.go_on()
    first, second = stepper.attempts
    assert (first.id, first.row.failure, second.row.status) == ("", "bad_request", 200)
    assert first.told == "{{zz.response.body.$.id}} asks for a step named zz, which there is not."


async def test_a_step_that_cannot_be_sent_is_passed_over(session: Session) -> None:
    wrong = Exchange(request=Request(method="G T", url="http://h/"))
    exchanges = listed([wrong, exchange(GOOD), wrong], "f", "har")
    stepper = Stepper(session, exchanges, aim=Aim(base_url=session.base_url or ""), file="f")
    told: list[tuple[int, str]] = []
    assert (await stepper.go_on(on_passed=lambda step, why: told.append((step, why)))).why == "end"
    assert statuses(stepper) == [200]
    assert told == [
        (0, "f, entry 1: The method 'G T' is no HTTP method."),
        (2, "f, entry 3: The method 'G T' is no HTTP method."),
    ]
    stepper.restart()
    stepper.edits[0] = exchange(GOOD).request
    await stepper.go_on(to=1)
    assert len(stepper.attempts) == 1, "one that was mended is sent"


async def test_a_breakpoint_on_the_site_asks_for_the_diagnosis(session: Session) -> None:
    stepper = stepper_of(session, NO_MODEL, BAD, breaks=['site ~ "protocol.py" and kind == missing_field'])
    assert (await stepper.go_on()).at == 2
    attempt = stepper.attempts.last(1)
    assert attempt is not None
    assert attempt.judged is not None
    assert attempt.judged.kind == "missing_field"


async def test_it_stops_inside_a_stream_and_keeps_what_came() -> None:
    with DemoServer(token_interval=0.5) as slow:
        async with Session(base_url=slow.base_url) as session:
            await check_a_stop_inside_a_stream(session)


async def check_a_stop_inside_a_stream(session: Session) -> None:
    stepper = stepper_of(session, STREAM, GOOD, breaks=["events >= 2"])
    stop = await stepper.go_on()
    assert (stop.why, stop.at) == ("stream", 1)
    kept = stepper.attempts.exchange(0)
    assert kept is not None
    assert kept.response is not None
    assert len(kept.response.events) >= 2
    assert b"[DONE]" not in kept.response.body
    assert kept.failure is not None
    assert kept.failure.kind == "stopped"
    assert kept.failure.message.startswith("Stopped at events >= 2, behind event 2 of the stream: the connection is")
    attempt = stepper.attempts.last(0)
    assert attempt is not None
    written = session.recorded(attempt.id)
    assert written is not None and written.failure == kept.failure, "the recording says that it was stopped"
    assert (attempt.outcome, attempt.changed) == ("answered", False), "as much came as was asked for"
    assert (await stepper.go_on()).why == "end"


@pytest.mark.parametrize("fact", ["request", "body", "event"])
async def test_a_breakpoint_that_takes_too_long_stops_and_is_told(
    session: Session, fact: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llmdebug.debugger.condition.MATCH_SECONDS", 0.01)
    stepper = stepper_of(session, STREAM, GOOD, breaks=[rf'{fact} ~ "(.|.)*\x01|zz$"'])
    with pytest.raises(SlowExpressionError, match="too long at step 1"):
        await stepper.go_on()
    assert stepper.at == (0 if fact == "request" else 1)
    kept = stepper.attempts.exchange(0)
    assert (kept is None) == (fact == "request"), "what was answered is kept"


async def test_skip_restart_and_a_run_of_its_own(session: Session) -> None:
    stepper = stepper_of(session, BAD, GOOD)
    stepper.skip()
    await stepper.go_on()
    assert statuses(stepper) == [200]
    assert stepper.skipped == {0}
    run = stepper.run
    stepper.restart()
    assert (stepper.at, len(stepper.attempts), stepper.skipped) == (0, 0, set())
    assert stepper.run != run


async def test_an_edited_step_stands_beside_the_one_before_and_the_recording_stays(session: Session) -> None:
    stepper = stepper_of(session, BAD, GOOD)
    await step(stepper)
    better = stepper.request(0)
    fixed = Request(method="POST", url=better.url, headers=better.headers, body=json.dumps(GOOD).encode())
    await stepper.resend(0, fixed)
    attempt = stepper.attempts.last(0)
    assert attempt is not None
    assert (attempt.row.status, attempt.edit is not None, attempt.changed) == (200, True, False)
    assert [one.row.status for one in stepper.attempts.of(0)] == [400, 200]
    assert json.loads(stepper.exchanges.exchange(0).request.body) == BAD
    assert stepper.at == 1
    first = stepper.attempts.exchange(0, 0)
    assert first is not None
    assert first.response is not None
    assert first.response.status == 400


async def test_another_model_is_asked_for(session: Session) -> None:
    stepper = stepper_of(session, NO_MODEL)
    stepper.aim = Aim(base_url=stepper.aim.base_url, model="alice")
    await step(stepper)
    assert statuses(stepper) == [200]


async def test_a_later_step_takes_values_of_an_earlier_answer(session: Session) -> None:
    first = exchange(GOOD, name="first")
    second = exchange({**GOOD, "prompt": "{{first.response.body.$.choices[0].text}}"})
    stepper = stepper_of(session, first, second)
    await stepper.go_on()
    sent, answered = stepper.attempts.exchange(1), stepper.attempts.exchange(0)
    assert sent is not None
    assert answered is not None
    assert answered.response is not None
    text = json.loads(answered.response.body)["choices"][0]["text"]
    assert json.loads(sent.request.body)["prompt"] == text


async def test_a_value_that_is_not_there_fails_its_step_and_not_the_run(session: Session) -> None:
    first = exchange(GOOD, name="first")
    stepper = stepper_of(session, first, {"prompt": "{{first.response.body.$.nothing}}"}, GOOD)
    await stepper.go_on()
    assert statuses(stepper) == [200, None, 200]
    attempt = stepper.attempts.last(1)
    assert attempt is not None
    assert "nothing at $.nothing" in attempt.told


async def test_more_than_100_are_sent_only_when_agreed(session: Session) -> None:
    stepper = stepper_of(session, *[GOOD] * 101)
    with pytest.raises(ConsentNeeded, match="101 requests"):
        await stepper.go_on()
    assert not len(stepper.attempts)
    assert (await stepper.go_on(to=2)).why == "here"
    assert (await stepper.go_on(to=3, agreed=True)).at == 3


async def test_without_a_server_it_stays_where_it_stood() -> None:
    async with Session(base_url="http://127.0.0.1:1", keep=False) as session:
        stepper = stepper_of(session, GOOD, GOOD)
        stop = await stepper.go_on()
        assert (stop.why, stop.at, len(stepper.attempts)) == ("unreachable", 0, 1)


async def test_the_pace_of_the_recording_is_kept(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    stepper = stepper_of(session, exchange(GOOD, at=100), exchange(GOOD, at=160), exchange(GOOD, at=160))
    stepper.pace = "recorded"
    monkeypatch.setattr("llmdebug.debugger.stepper.sleep", sleep)
    await stepper.go_on()
    assert len(slept) == 2
    assert 55 < slept[0] <= 60
    assert slept[1] == 0


async def test_cancelling_keeps_what_had_arrived() -> None:
    begun = asyncio.Event()

    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
        await server.until_hung_up(reader)

    async with RawServer() as server:
        place = await server.start(endless)
        async with Session(base_url=f"http://{place}") as session:
            stepper = stepper_of(session, GOOD, GOOD)
            task = asyncio.create_task(stepper.go_on(on_event=lambda event: begun.set()))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert stepper.at == 1
            kept = stepper.attempts.exchange(0)
            assert kept is not None
            assert kept.response is not None
            assert kept.response.body == b"data: 1\n\n"


async def test_a_step_that_was_cancelled_before_anything_came_is_sent_again(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def silent_at_first(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(server.requests) == 2:
            begun.set()
            await server.until_hung_up(reader)
            return
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        await writer.drain()

    async with RawServer() as server:
        place = await server.start(silent_at_first)
        async with Session(base_url=f"http://{place}") as session:
            stepper = stepper_of(session, GOOD, GOOD, GOOD)
            task = asyncio.create_task(stepper.go_on())
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert stepper.at == 1
            recorded = RecordedLines(tmp_path / "state" / "history.jsonl")
            found = last_run(recorded, "f")
            assert found is not None
            assert (found.at, list(found.answered)) == (1, [0])
            again = stepper_of(session, GOOD, GOOD, GOOD)
            take_up(again, recorded, found)
            await again.go_on()
            assert statuses(again) == [200, 200, 200]
            assert len(server.requests) == 4


async def test_a_replay_is_taken_up_from_its_recording(session: Session, tmp_path: Path) -> None:
    steps = [exchange(GOOD), exchange(BAD), exchange(GOOD)]
    first = stepper_of(session, *steps)
    await first.go_on(to=2)
    recorded = RecordedLines(tmp_path / "state" / "history.jsonl")
    found = last_run(recorded, "f")
    assert found is not None
    assert (found.run, found.at) == (first.run, 2)
    assert last_run(recorded, "another") is None
    again = stepper_of(session, *steps)
    take_up(again, recorded, found)
    assert (again.at, again.run) == (2, first.run)
    assert [(one.row.status, one.changed) for one in again.attempts] == [(200, False), (400, True)]
    read = again.attempts.exchange(1)
    assert read is not None
    assert json.loads(read.request.body) == BAD
    with pytest.raises(FormatError, match="held 3 requests"):
        take_up(stepper_of(session, *steps, GOOD), recorded, found)


async def test_an_answer_that_the_users_own_recording_cannot_keep_stops_the_run(
    nanoserve: DemoServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(number: int, data: bytes) -> None:
        os.write(number, data if b'"record":"request"' in data else data[:9])
        if b'"record":"request"' not in data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with Session(base_url=nanoserve.base_url, record_in=tmp_path / "r.jsonl") as session:
        stepper = stepper_of(session, GOOD, GOOD)
        monkeypatch.setattr("llmdebug.recording.history._write_all", full)
        with pytest.raises(
            NotRecordedError, match=r"^Step 1: it was sent, and its answer is not kept: .*r.jsonl cannot"
        ):
            await stepper.go_on()
        assert stepper.at == 0
    recorded = RecordedLines(tmp_path / "r.jsonl")
    assert (len(recorded), recorded.answered(0), recorded.warnings) == (1, False, ())


async def test_more_exchanges_than_are_kept_come_back_from_the_disk(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llmdebug.debugger.attempts.KEPT", 1)
    stepper = stepper_of(session, BAD, GOOD)
    await stepper.go_on()
    first = stepper.attempts.exchange(0)
    assert first is not None
    assert first.response is not None
    assert first.response.status == 400


async def test_refusals_are_grouped_by_the_place_that_refused(session: Session) -> None:
    stepper = stepper_of(session, BAD, NO_MODEL, BAD, GOOD)
    stepper.diagnose = True
    seen: list[Attempt] = []
    await stepper.go_on(on_attempt=seen.append)
    groups = groups_of(stepper.attempts)
    assert [group.steps for group in groups] == [(0, 2), (1,)]
    assert groups[0].place.startswith("protocol.py:")
    assert groups[0].title.startswith(f"2 refused at {groups[0].place}: ")
    assert len(seen) == 4
    undiagnosed = groups_of(msgspec.structs.replace(attempt, judged=None) for attempt in stepper.attempts)
    assert [(group.status, group.place) for group in undiagnosed] == [(400, ""), (404, "")]
