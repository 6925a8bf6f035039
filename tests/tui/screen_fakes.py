"""A debugger that answers what a test gives it, and a way to drive the app."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from textual.pilot import Pilot

from llmdebug.debugger.session import Finding, SentExchange, Session, SessionError, Trial
from llmdebug.debugger.trials import Verdict
from llmdebug.diagnosis.verdict import BlamedField, Diagnosis, Remedy, RemedyRequest, Site, TrailStep
from llmdebug.http.exchange import Exchange, Failure, Request, Response, StreamEvent, Timing
from llmdebug.linking.linked import Linked
from llmdebug.linking.server import Server
from llmdebug.source.tree import Tree
from llmdebug.tui.app import DebuggerApp
from llmdebug.tui.opening import Opening
from llmdebug.tui.screens.main import MainScreen
from llmdebug.tui.views.rows import plain
from llmdebug.tui.worksheet import Worksheet

URL = "http://server.test"
PATIENCE_S = 20.0


def request(body: bytes = b'{"model": "m", "prompt_token_ids": [1, 2]}', name: str = "ids", **fields: Any) -> Request:
    given = {"method": "POST", "url": f"{URL}/v1/completions", "headers": (("Content-Type", "application/json"),)}
    return Request(**{**given, "body": body, "name": name, **fields})


def answer(status: int = 400, body: bytes = b'{"error": {"message": "Field required"}}', **fields: Any) -> Response:
    headers = (("Content-Type", "application/json"),)
    return Response(**{"status": status, "reason": "Bad Request", "headers": headers, "body": body, **fields})


def diagnosis(tree_file: str = "server.py", **fields: Any) -> Diagnosis:
    """The founding case, by hand."""
    site = Site(
        file=tree_file,
        line=3,
        end_line=3,
        symbol="CompletionRequest.prompt",
        role="declares",
        score=0.98,
        why=("the route's model declares it without a default",),
        excerpt="2 │ class CompletionRequest(BaseModel):\n3 ▶     prompt: str | list[int]\n4 │     n: int = 1",
    )
    given: dict[str, Any] = {
        "summary": "/prompt is required and missing; /prompt_token_ids is no field here: it is ignored.",
        "kind": "missing_field",
        "fields": (BlamedField(pointer="/prompt", reason="missing", confidence=0.97),),
        "ignored": ("/prompt_token_ids",),
        "sites": (site,),
        "related": (
            msgspec.structs.replace(site, file="worker.py", line=1, role="internal", symbol="run", excerpt=""),
        ),
        "remedies": (
            Remedy(
                title="send the ids as prompt",
                why="its type takes a list of integers",
                requests=(
                    RemedyRequest(method="POST", url=f"{URL}/v1/completions", body={"model": "m", "prompt": [1, 2]}),
                ),
            ),
            Remedy(
                title="one request a prompt",
                why="the batch is refused",
                requests=tuple(
                    RemedyRequest(method="POST", url=f"{URL}/v1/completions", body={"prompt": n}) for n in (1, 2)
                ),
            ),
            Remedy(title="start the server with --flag", why="it is off"),
        ),
        "trail": (TrailStep(step="symptom", text="400"), TrailStep(step="verdict", text="missing_field")),
    }
    return Diagnosis(**{**given, **fields})


class Trees:
    def __init__(self, *trees: Tree) -> None:
        self.trees = trees

    links: tuple[Linked, ...] = ()
    drift: tuple[str, ...] = ()

    def save(self) -> None:
        """Nothing is kept."""


class FakeSession:
    """Answers each request with the next of `answers`; a callable among them is called with the event hook."""

    def __init__(
        self,
        answers: Sequence[Any] = (),
        said: Sequence[Diagnosis] = (),
        tree: Path | None = None,
        refused_again: Verdict = "refuted",
    ) -> None:
        self.answers = list(answers)
        self.refused_again: Verdict = refused_again
        self.said = list(said)
        self.sent: list[Request] = []
        self.secrets: dict[str, str] = {}
        self.warnings: list[str] = []
        self.trees = Trees(*([Tree(tree, "server")] if tree is not None else []))
        self.closed = False
        self.cancelled = False
        self.logs: list[str] = []

    async def send(
        self, request: Request, *, on_event: Any = None, on_bytes: Any = None, on_partial: Any = None
    ) -> SentExchange:
        self.sent.append(request)
        given = self.answers.pop(0) if self.answers else answer(200, b"{}")
        if isinstance(given, Exception):
            raise given
        try:
            if callable(given):
                given = await given(on_event)
        except asyncio.CancelledError:
            self.cancelled = True
            on_partial(Exchange(request=request, failure=Failure(kind="cancelled", message="Cancelled.")))
            raise
        if isinstance(given, Failure):
            return SentExchange(id="1", exchange=Exchange(request=request, failure=given))
        timing = Timing(started_at=0.0, connect=0.001, first_byte=0.01, end=0.012)
        return SentExchange(id="1", exchange=Exchange(request=request, response=given, timing=timing))

    def know(self, secrets: dict[str, str], url: str) -> None:
        self.secrets.update(secrets)

    pending: tuple[str, ...] = ()
    foreseen: Diagnosis | None = None
    """What the linked source says of each request that is not sent; None: no source is asked."""

    @property
    def is_linked(self) -> bool:
        return self.foreseen is not None

    async def check(self, request: Request) -> Diagnosis:
        assert self.foreseen is not None
        return self.foreseen

    async def link_given(self, *, progress: Any = None) -> None:
        """Nothing is to be fetched."""

    async def probe(self) -> Server:
        return Server()

    async def fetch(self, request: Request) -> Exchange:
        return Exchange(request=request, failure=Failure(kind="refused", message="nobody there"))

    async def diagnose(self, sent: SentExchange, *, log: str = "", progress: Any = None) -> Finding:
        self.logs.append(log)
        said = self.said.pop(0) if self.said else Diagnosis(summary="", kind="none")
        return Finding(id="1", exchange=sent.exchange, diagnosis=said)

    def redacted(self, exchange: Exchange) -> Exchange:
        return exchange

    def apply(self, finding: Finding, n: int) -> list[Request]:
        remedies = finding.diagnosis.remedies
        if not 1 <= n <= len(remedies) or not remedies[n - 1].requests:
            raise SessionError(f"There is no remedy {n} to send.")
        base = finding.exchange.request
        return [
            msgspec.structs.replace(base, url=r.url, body=msgspec.json.encode(r.body)) for r in remedies[n - 1].requests
        ]

    async def settle(self, finding: Finding, n: int, sent: Sequence[SentExchange], *, progress: Any = None) -> Trial:
        response = sent[-1].exchange.response
        if response is not None and response.status < 300:
            return Trial(verdict="confirmed", sent=tuple(sent), finding=finding)
        following = await self.diagnose(sent[-1])
        return Trial(verdict=self.refused_again, sent=tuple(sent), finding=finding, next=following)

    async def link_all(self, paths: Sequence[str], *, progress: Any = None) -> None:
        from llmdebug.source.tree import open_tree

        self.trees = Trees(*(open_tree(path) for path in paths))

    async def __aexit__(self, *_: object) -> None:
        self.closed = True


class Driven:
    """The app under a pilot, as a person sees it."""

    def __init__(self, app: DebuggerApp, pilot: Pilot[int]) -> None:
        self.app, self.pilot = app, pilot
        self.main: MainScreen = app.main

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Waits for a state; shows the screen where it does not come."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not condition():
                    await self.pilot.pause(0.01)
        except TimeoutError:
            raise AssertionError("this did not happen; the screen shows:\n" + self.screen()) from None
        await self.pilot.pause()

    async def shows(self, text: str) -> None:
        await self.until(lambda: text in self.screen())

    def screen(self) -> str:
        """The text on the screen."""
        compositor = self.app.screen._compositor
        return "\n".join("".join(s.text for s in strip).rstrip() for strip in compositor.render_strips())

    def message(self) -> str:
        return plain(self.main.bottom.message)


@asynccontextmanager
async def driven(
    session: FakeSession | Session | None = None,
    *requests: Request,
    size: tuple[int, int] = (80, 24),
    theme: str = "dark",
    keys: dict[str, list[str]] | None = None,
    base_url: str | None = URL,
    **opening: Any,
) -> AsyncIterator[Driven]:
    """The app with a fake debugger, or with none."""
    worksheet = Worksheet()
    worksheet.add(*requests)

    def start(screen: MainScreen) -> None:
        screen.session = session  # type: ignore[assignment]
        screen.ready.set()
        screen.show_entry()

    app = DebuggerApp(
        Opening(base_url=base_url, **opening), theme=theme, worksheet=worksheet, on_start=start, keys=keys
    )
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Driven(app, pilot)


def stream(*texts: str) -> tuple[StreamEvent, ...]:
    """Chat chunks."""
    return tuple(
        StreamEvent(data=f'{{"choices": [{{"index": 0, "delta": {{"content": "{text}"}}}}]}}', at=0.1 * n)
        for n, text in enumerate(texts)
    )
