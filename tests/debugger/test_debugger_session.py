from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from raw_server import RawServer

from llmdebug.debugger import trees
from llmdebug.debugger.experiment import try_all
from llmdebug.debugger.session import NOTE, SentExchange, Session, SessionError
from llmdebug.diagnosis.doubts import Doubts
from llmdebug.diagnosis.verdict import Diagnosis, Remedy, RemedyRequest, Site
from llmdebug.http.credentials import Credentials
from llmdebug.http.exchange import Exchange, Request, Response
from llmdebug.index.build import Cancelled, Index
from llmdebug.recording.history import History

KEY = "sk-a-very-secret-key"
REFUSED = b'HTTP/1.1 400 Bad Request\r\nContent-Length: 16\r\n\r\n{"detail": "no"}'
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
EMPTY_STREAM_ERROR = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    b'data: {"error": {"message": "no"}}\n\n'
)


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    async with RawServer() as server:
        yield server


def post(place: str, body: bytes = b'{"n": 0}') -> Request:
    return Request(method="POST", url=f"http://{place}/v1/completions", headers=(("X-Api-Key", KEY),), body=body)


def answering(diagnosis: Callable[[Exchange], Diagnosis], monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a function take the place of the pipeline."""

    def diagnose(exchange: Exchange, indexes: Sequence[Index] = (), log: object = None, **known: object) -> Diagnosis:
        return diagnosis(exchange)

    monkeypatch.setattr(trees, "diagnose", diagnose)


def proposing(*bodies: object, times: int = 1) -> Callable[[Exchange], Diagnosis]:
    """A diagnosis whose remedies send these bodies with the headers of the request, each `times` times."""

    def diagnosis(exchange: Exchange) -> Diagnosis:
        request = exchange.request
        proposed = [
            RemedyRequest(method="POST", url=request.url, headers=dict(request.headers), body=body) for body in bodies
        ]
        remedies = tuple(Remedy(title="t", why="w", requests=(one,) * times) for one in proposed)
        return Diagnosis(summary="s", kind="other", remedies=(*remedies, Remedy(title="start it otherwise", why="w")))

    return diagnosis


async def test_an_exchange_is_on_disk_before_it_is_sent(server: RawServer) -> None:
    on_disk: list[tuple[bool, str]] = []

    async def look(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with History() as history:
            on_disk.extend((item.answered, item.exchange.request.body.decode()) for item in history)
        writer.write(OK)

    async with Session() as session:
        sent = await session.send(post(await server.start(look)))
    assert on_disk == [(False, '{"n": 0}')]
    with History() as history:
        recorded = history.get(sent.id)
    assert recorded is not None and recorded.answered
    assert KEY not in history.path.read_text()


async def test_a_diagnosis_holds_no_secret_and_is_kept_beside_its_exchange(
    server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(proposing({"n": 1}), monkeypatch)
    async with Session() as session:
        sent = await session.send(post(await server.start(REFUSED)))
        finding = await session.diagnose(sent)
        with History() as history:
            recorded = history.get(sent.id)
    assert recorded is not None
    assert recorded.notes[NOTE]["summary"] == "s"
    assert finding.diagnosis.remedies[0].requests[0].headers["X-Api-Key"] == "{{secret:X_API_KEY}}"
    assert KEY not in history.path.read_text()


async def test_a_remedy_that_passes_confirms(server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(proposing({"n": 1}), monkeypatch)
    answers = iter([REFUSED, OK])

    async def next_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(next(answers))

    async with Session() as session:
        finding = await session.diagnose(await session.send(post(await server.start(next_one))))
        trial = await session.try_remedy(finding, 1)
        with History() as history:
            recorded = history.get(finding.id)
    assert (trial.verdict, trial.next) == ("confirmed", None)
    assert server.requests[1].endswith(b'{"n": 1}')
    assert f"X-Api-Key: {KEY}".encode() in server.requests[1]
    assert [step.step for step in trial.finding.diagnosis.trail] == ["experiment", "verdict"]
    assert recorded is not None
    assert "confirmed" in recorded.notes[NOTE]["trail"][1]["text"]


@pytest.mark.parametrize("answer", [REFUSED, EMPTY_STREAM_ERROR])
async def test_a_remedy_that_is_refused_is_diagnosed_in_turn(
    answer: bytes, server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(proposing({"n": 1}), monkeypatch)
    async with Session(keep=False) as session:
        finding = await session.diagnose(await session.send(post(await server.start(answer))))
        trial = await session.try_remedy(finding, 1)
    assert trial.verdict == "refuted"
    assert trial.next is not None
    assert trial.next.exchange.request.body == b'{"n": 1}'


async def test_a_fan_out_sends_all_its_requests_and_stops_at_a_refusal(
    server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(proposing({"n": 1}, times=3), monkeypatch)
    answers = iter([REFUSED, OK, OK, OK, OK, REFUSED])

    async def next_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(next(answers))

    async with Session(keep=False) as session:
        finding = await session.diagnose(await session.send(post(await server.start(next_one))))
        all_passed = await session.try_remedy(finding, 1)
        one_refused = await session.try_remedy(finding, 1)
    assert (all_passed.verdict, len(all_passed.sent)) == ("confirmed", 3)
    assert (one_refused.verdict, len(one_refused.sent)) == ("refuted", 2)


async def test_a_remedy_without_an_answer_settles_nothing(server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(proposing({"n": 1}), monkeypatch)
    answers = iter([REFUSED, b""])

    async def next_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(next(answers))

    async with Session(keep=False) as session:
        finding = await session.diagnose(await session.send(post(await server.start(next_one))))
        trial = await session.try_remedy(finding, 1)
    assert (trial.verdict, trial.next) == ("no_answer", None)


@pytest.mark.parametrize(
    ("n", "told"), [(0, "There is no remedy 0"), (3, "there are 1 to 2"), (2, "start it otherwise")]
)
async def test_remedies_that_cannot_be_sent(n: int, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(proposing({"n": 1}), monkeypatch)
    async with Session(keep=False) as session:
        finding = await session.diagnose(Exchange(request=post("h"), response=Response(status=400)))
        with pytest.raises(SessionError, match=told):
            session.apply(finding, n)


async def test_a_remedy_does_not_carry_secrets_out_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    answering(proposing({"model": "{{secret:SOME_KEY}}"}), monkeypatch)
    async with Session(keep=False) as session:
        finding = await session.diagnose(Exchange(request=post("h"), response=Response(status=400)))
        with pytest.raises(SessionError, match="SOME_KEY"):
            session.apply(finding, 1)


async def test_a_secret_of_a_recording_is_filled_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Request(method="GET", url="http://h/", headers=(("Authorization", "Bearer {{secret:SOME_KEY}}"),))
    async with Session(keep=False) as session:
        with pytest.raises(SessionError, match="SOME_KEY"):
            session.prepared(recorded)
        monkeypatch.setenv("SOME_KEY", KEY)
        assert session.prepared(recorded).headers == (("Authorization", f"Bearer {KEY}"),)


async def test_credentials_keep_their_name(server: RawServer) -> None:
    known = Credentials(api_key=KEY, api_key_name="MY_KEY")
    request = Request(method="GET", url=f"http://{await server.start(OK)}/")
    async with Session(credentials=known) as session:
        sent = await session.send(request)
        assert ("Authorization", "Bearer {{secret:MY_KEY}}") in session.redacted(sent.exchange).request.headers
    assert f"Authorization: Bearer {KEY}".encode() in server.requests[0]


async def test_a_history_that_fails_is_one_warning(
    server: RawServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMDEBUG_STATE_DIR", str(tmp_path / "full"))
    place = await server.start(OK)
    async with Session() as session:
        history = session._recorder._history
        assert history is not None
        history.close()
        for _ in range(2):
            sent = await session.send(post(place))
            assert sent.exchange.response is not None
            assert sent.id == ""
    assert len(session.warnings) == 1
    assert "Not recorded" in session.warnings[0]


async def test_cancelling_a_diagnosis_ends_its_thread(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun, ended = threading.Event(), threading.Event()
    (tmp_path / "app.py").write_text("x = 1\n")

    def diagnose(exchange: Exchange, indexes: Sequence[Index] = (), log: object = None, **known: object) -> Diagnosis:
        begun.set()
        while not indexes[0].cancelled():
            indexes[0].progress("waiting", 0, 1)
        ended.set()
        raise Cancelled

    monkeypatch.setattr(trees, "diagnose", diagnose)
    async with Session(sources=[tmp_path], keep=False) as session:
        work = asyncio.create_task(session.diagnose(Exchange(request=post("h"))))
        assert await asyncio.to_thread(begun.wait, 10)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert await asyncio.to_thread(ended.wait, 10)


async def test_trees_are_remembered_for_their_server(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "app.py").write_text("x = 1\n")
    Session(base_url="http://h:1/v1", sources=[tmp_path / "tree"])
    assert [tree.root for tree in Session(base_url="http://h:1/v1").trees.trees] == [tmp_path / "tree"]
    assert Session(base_url="http://h:2/v1").trees.trees == ()
    (tmp_path / "tree" / "app.py").unlink()
    forgotten = Session(base_url="http://h:1/v1")
    assert forgotten.trees.trees == ()
    assert "cannot be used" in forgotten.warnings[0]


async def test_an_exchange_from_elsewhere_gets_no_note(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(file="a.py", line=1, end_line=1, role="raises", score=1.0)
    answering(lambda exchange: Diagnosis(summary="s", kind="other", sites=(site,)), monkeypatch)
    async with Session() as session:
        finding = await session.diagnose(SentExchange(id="", exchange=Exchange(request=post("h"))))
    assert finding.diagnosis.sites == (site,)
    with History() as history:
        assert list(history) == []


async def test_the_server_is_asked_for_its_models_where_a_model_is_to_blame(
    server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[object] = []

    def diagnose(exchange: Exchange, indexes: Sequence[Index] = (), log: object = None, **told: object) -> Diagnosis:
        known.append(told["models"])
        return Diagnosis(summary="s", kind="model_not_found")

    monkeypatch.setattr(trees, "diagnose", diagnose)
    listing = b'{"data": [{"id": "alice"}, {"no": 1}]}'
    answers = iter([REFUSED, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(listing), listing)])

    async def next_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(next(answers))

    async with Session(keep=False) as session:
        sent = await session.send(post(await server.start(next_one)))
        await session.diagnose(sent)
        await session.diagnose(sent)
    assert known == [(), ("alice",), ("alice",)]
    assert b"GET /v1/models" in server.requests[1]
    assert KEY.encode() in server.requests[1]


async def test_a_kind_that_an_experiment_refuted_is_doubted_the_next_time(
    server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[Doubts] = []
    propose = proposing({"n": 1})

    def diagnose(exchange: Exchange, indexes: Sequence[Index] = (), log: object = None, **told: Doubts) -> Diagnosis:
        known.append(told["doubted"])
        return propose(exchange)

    monkeypatch.setattr(trees, "diagnose", diagnose)
    async with Session(keep=False) as session:
        sent = await session.send(post(await server.start(REFUSED)))
        trial = await session.try_remedy(await session.diagnose(sent), 1)
        assert trial.verdict == "refuted"
        elsewhere = await session.send(post(await server.start(REFUSED)))
        await session.diagnose(elsewhere)
    assert [doubts.kinds for doubts in known] == [frozenset(), frozenset({"other"}), frozenset()]
    assert len(known[1].requests) == 1


def refusal(status: int, text: str) -> bytes:
    return b"HTTP/1.1 %d No\r\nContent-Length: %d\r\n\r\n%b" % (status, len(text), text.encode())


@pytest.mark.parametrize(
    ("second", "line", "verdict", "doubted"),
    [
        (refusal(400, "no b"), 1, "refuted", {"other"}),
        (refusal(400, "no b"), 2, "settled", set()),
        (refusal(422, "no a"), 2, "settled", set()),
        (refusal(503, "wait"), 2, "no_answer", set()),
    ],
)
async def test_only_the_same_refusal_refutes(
    second: bytes, line: int, verdict: str, doubted: set[str], server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same is one of the same words, or of the same place with another value in its words."""
    known: list[Doubts] = []
    propose = proposing({"n": 1})

    def diagnose(exchange: Exchange, indexes: Sequence[Index] = (), log: object = None, **told: Doubts) -> Diagnosis:
        known.append(told["doubted"])
        place = line if b'"n": 1' in exchange.request.body else 1
        site = Site(file="a.py", line=place, end_line=place, role="raises", score=1.0)
        return msgspec.structs.replace(propose(exchange), sites=(site,))

    monkeypatch.setattr(trees, "diagnose", diagnose)
    answers = iter([refusal(400, "no a"), second, second])

    async def next_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(next(answers))

    async with Session(keep=False) as session:
        sent = await session.send(post(await server.start(next_one)))
        finding = await session.diagnose(sent)
        trial = await session.try_remedy(finding, 1)
        ((_, of_all),) = await try_all(session, finding)
        await session.diagnose(sent)
    assert (trial.verdict, of_all.verdict) == (verdict, verdict)
    assert trial.next is not None and of_all.next is not None
    assert known[-1].kinds == doubted


async def test_all_remedies_are_tried_with_few_tokens(server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(proposing({"n": 1, "max_tokens": 4096}, {"n": 2, "max_tokens": 3}), monkeypatch)
    answers = iter([REFUSED, REFUSED, OK])

    async def next_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(next(answers))

    told: list[int] = []
    async with Session(keep=False) as session:
        finding = await session.diagnose(await session.send(post(await server.start(next_one))))
        tried = await try_all(session, finding, on_trial=lambda n, trial: told.append(n))
    assert [(n, trial.verdict) for n, trial in tried] == [(1, "refuted"), (2, "confirmed")]
    assert told == [1, 2]
    assert server.requests[1].endswith(b'{"n": 1, "max_tokens": 16}')
    assert server.requests[2].endswith(b'{"n": 2, "max_tokens": 3}')
    verdicts = [step.text for step in tried[-1][1].finding.diagnosis.trail if step.step == "verdict"]
    assert verdicts == ["refuted: remedy 1 was refused too", "confirmed: remedy 2 passed"]


async def test_nothing_can_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(proposing(), monkeypatch)
    async with Session(keep=False) as session:
        finding = await session.diagnose(Exchange(request=post("h"), response=Response(status=400)))
        with pytest.raises(SessionError, match="nothing to send"):
            await try_all(session, finding)
