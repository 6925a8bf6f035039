"""The headless debugger: what both front ends drive.

It sends and records, asks for diagnoses in a worker thread, makes the requests of a remedy, and settles a
diagnosis by sending them. Secrets stand in a diagnosis and in everything kept as `{{secret:NAME}}`; they are
filled in again only in what is sent.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from llmdebug.debugger.keyring import Keyring, KeyringError
from llmdebug.debugger.linkage import Linkage
from llmdebug.debugger.models import served_models, wants_models
from llmdebug.debugger.outcome import outcome
from llmdebug.debugger.probing import Probing
from llmdebug.debugger.recorder import Recorder
from llmdebug.debugger.refutations import Refutations, same_place, same_words
from llmdebug.debugger.replacement import replacement
from llmdebug.debugger.trees import LinkedTrees
from llmdebug.debugger.trials import VERDICTS, Verdict, experiment, names_added, verdict_on_another
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.credentials import Credentials
from llmdebug.http.exchange import Exchange, Request, StreamEvent
from llmdebug.http.secrets import hide
from llmdebug.index.build import Progress, silent
from llmdebug.linking.live import Live
from llmdebug.linking.server import Server
from llmdebug.source.search import never
from llmdebug.source.tree import TreeError

if TYPE_CHECKING:
    from llmdebug.http.client import Client
    from llmdebug.http.options import ClientOptions

NOTE = "diagnosis"
"""The note beside an exchange that holds its diagnosis."""


class SessionError(Exception):
    """Something cannot be done; the text is a sentence for the user."""


class SentExchange(msgspec.Struct, frozen=True, kw_only=True):
    """An exchange that this session made."""

    id: str
    """Its name in the history; empty where it could not be recorded."""
    exchange: Exchange
    """With its secrets, as it went over the wire."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A diagnosis and the exchange it is of."""

    id: str = ""
    """The exchange's name in the history; empty where it is not in it."""
    exchange: Exchange
    """Without its secrets."""
    diagnosis: Diagnosis


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A remedy that was sent."""

    verdict: Verdict
    """`confirmed`: all its requests were answered with 2xx."""
    sent: tuple[SentExchange, ...]
    """In order; nothing is sent after the first that is not answered."""
    finding: Finding
    """That of the refused request, its trail continued by this experiment."""
    next: Finding | None = None
    """Of the remedy's own refusal."""


class Session:
    """Use as an async context manager. Progress callbacks come from a worker thread."""

    def __init__(
        self,
        *,
        base_url: str | None = None,
        sources: Sequence[str | Path] = (),
        credentials: Credentials | None = None,
        options: ClientOptions | None = None,
        keep: bool = True,
        record_in: Path | None = None,
        history_mb: float = 500.0,
        probing: bool = True,
        families: Path | None = None,
        send_secrets: bool = False,
    ) -> None:
        """Without `sources`, the trees last linked to `base_url` are taken. Raises TreeError for given ones.

        Sources that are not at hand are linked by link_given().

        `keep` records exchanges and remembers which trees belong to which server; `record_in` is a file to
        record in instead of the history, which is kept within `history_mb` (0: not). `probing`: whether the
        server may be asked what it is; `families` is the folder of the user's own families of servers;
        `send_secrets`: whether keys go to other hosts than those they were written for.
        """
        self.base_url = base_url
        self._probing = Probing(base_url, options, self.prepared, families, allowed=probing)
        self.warnings: list[str] = []
        """What went wrong beside the work, as sentences, each once."""
        self._keys = Keyring(credentials or Credentials(), base_url, self._warn, anywhere=send_secrets)
        self._options = options
        self._client: Client | None = None
        self._recorder = Recorder(self._warn)
        if keep or record_in is not None:
            self._recorder.open(record_in, 0 if record_in is not None else int(history_mb * 1e6))
        self._refuted = Refutations()
        self.models: tuple[str, ...] | None = None
        """What the server lists as its models; None where it was not asked."""
        self._linkage = Linkage(base_url, sources, self._probing, self._warn, remember=keep)

    @property
    def trees(self) -> LinkedTrees:
        return self._linkage.trees

    @property
    def pending(self) -> tuple[str, ...]:
        """Names of the sources that are still to be fetched or found."""
        return tuple(map(str, self._linkage.given))

    @property
    def is_linked(self) -> bool:
        """Whether there is any source to hold an exchange against, at hand or still to be fetched."""
        return bool(self._linkage.given or self.trees.links)

    @property
    def records(self) -> bool:
        """Whether what is sent is kept on disk."""
        return self._recorder.records

    @property
    def secrets(self) -> dict[str, str]:
        """Every secret seen so far, by the name it is kept under."""
        return self._keys.secrets

    def link(
        self,
        given: Sequence[str | Path],
        *,
        server: Server | None = None,
        progress: Progress = silent,
        cancelled: Callable[[], bool] = never,
    ) -> None:
        """These sources from now on, and for this base URL in later sessions too.

        What has to be fetched is fetched: from an event loop, await link_all(). `server` is what `auto` needs.
        Raises TreeError, Cancelled.
        """
        self._linkage.link(given, server=server, progress=progress, cancelled=cancelled)

    async def link_all(self, given: Sequence[str | Path], *, progress: Progress = silent) -> None:
        """As link(), beside the event loop; the server is asked what it is where `auto` is among them."""
        await self._linkage.link_all(given, self.probe, progress=progress)

    async def link_given(self, *, progress: Progress = silent) -> None:
        """Links the sources that the session was given and that had to be fetched; else does nothing.

        Raises TreeError.
        """
        await self._linkage.link_given(self.probe, progress=progress)

    async def doubts(self, *, progress: Progress = silent) -> tuple[str, ...]:
        """Why the linked sources tell nothing, or hardly of the server that runs, sentences without their ends."""
        live = await self._probing.live(self.base_url) if self.base_url else None
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self.trees.doubts, live, progress=progress, cancelled=stop.is_set)
        finally:
            stop.set()

    def _warn(self, sentence: str) -> None:
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._probing.close()
        if self._client is not None:
            await self._client.__aexit__(kind, error, trace)
        self._recorder.close()

    def prepared(self, request: Request) -> Request:
        """The request with this session's credentials, and with the secrets that stand in it by name.

        Raises SessionError for a secret that nobody knows, or that belongs to another host.
        """
        try:
            return self._keys.prepared(request)
        except KeyringError as error:
            raise SessionError(str(error)) from None

    async def send(
        self,
        request: Request,
        *,
        on_event: Callable[[StreamEvent], None] | None = None,
        on_bytes: Callable[[int], None] | None = None,
        on_partial: Callable[[Exchange], Exchange | None] | None = None,
        on_begin: Callable[[str], None] | None = None,
        notes: Mapping[str, Any] | None = None,
    ) -> SentExchange:
        """Sends the request as prepared(); recorded before it goes out, `notes` beside it, and when its answer is in.

        `on_begin` gets its id. A cancelled one is recorded with what had arrived, which `on_partial` gets and may
        replace.
        Raises SessionError, NotRecordedError, and ClientOptionsError for unusable options.
        """
        complete = self.prepared(request)
        client = await self._entered_client()
        id_ = await asyncio.to_thread(self._recorder.begin, self._keys.redacted_request(complete), notes)
        if on_begin is not None:
            on_begin(id_)
        partial: list[Exchange] = []
        try:
            exchange = await client.send(complete, on_event=on_event, on_bytes=on_bytes, on_partial=partial.append)
        except asyncio.CancelledError:
            for unfinished in partial:
                kept = on_partial(unfinished) if on_partial is not None else None
                await self._finished(id_, kept or unfinished)
            raise
        try:
            await self._finished(id_, exchange)
        except asyncio.CancelledError:
            if on_partial is not None:
                on_partial(exchange)
            raise
        return SentExchange(id=id_, exchange=exchange)

    async def _finished(self, id_: str, exchange: Exchange) -> None:
        """Records what came back beside the event loop, to the end whatever happens meanwhile."""
        finishing = asyncio.ensure_future(asyncio.to_thread(self._finish, id_, exchange))
        try:
            await asyncio.shield(finishing)
        except asyncio.CancelledError:
            await finishing
            raise

    async def fetch(self, request: Request) -> Exchange:
        """As send(), unrecorded: for what llmdebug itself asks a server."""
        client = await self._entered_client()
        return await client.send(self.prepared(request))

    async def probe(self) -> Server:
        """What the server of this session's base URL says of itself; it is asked once."""
        server = await self._probing.server()
        for problem in self._probing.problems:
            self._warn(problem)
        return server

    async def _entered_client(self) -> Client:
        if self._client is None:
            from llmdebug.http.client import Client

            self._client = await Client(self._options).__aenter__()
        return self._client

    def recorded(self, id_: str) -> Exchange | None:
        """An exchange that this session sent, from the disk; None where it cannot be had."""
        return self._recorder.recorded(id_)

    def _finish(self, id_: str, exchange: Exchange) -> None:
        if id_:
            self._recorder.finish(id_, self.redacted(exchange))

    async def _kept(self, finding: Finding) -> Finding:
        """The finding, its diagnosis now beside its exchange."""
        await asyncio.to_thread(self._recorder.note, finding.id, NOTE, finding.diagnosis)
        return finding

    def redacted(self, exchange: Exchange) -> Exchange:
        """The exchange with its secrets by name; the session knows them from then on."""
        return self._keys.redacted(exchange)

    def know(self, secrets: dict[str, str], url: str) -> None:
        """Secrets by name that were taken out of a request to this URL."""
        self._keys.know(secrets, url)

    async def diagnose(
        self, exchange: SentExchange | Exchange, *, log: str = "", progress: Progress = silent
    ) -> Finding:
        """`log` is what the server wrote beside it. Cancelling the task ends the work in its thread as well.

        Links first what is still to be linked. Where a model's name is to blame for what was sent, or a remedy gives
        one, the server is asked for its models.
        """
        try:
            await self.link_given(progress=progress)
        except TreeError as error:
            self._warn(str(error))
        sent = exchange if isinstance(exchange, SentExchange) else SentExchange(id="", exchange=exchange)
        clean = self.redacted(sent.exchange)
        log = hide(log, self.secrets)
        answered = exchange is sent and clean.response is not None
        live = await self._probing.live(clean.request.url) if answered and self.trees.trees else None
        diagnosis = await self._diagnosed(clean, log, live, progress)
        unasked = exchange is sent and self._probing.allowed and self.models is None
        if unasked and wants_models(diagnosis, clean.request):
            self.models = await served_models(self, clean.request)
            if self.models:
                diagnosis = await self._diagnosed(clean, log, live, progress)
        return await self._kept(Finding(id=sent.id, exchange=clean, diagnosis=diagnosis))

    async def _diagnosed(self, exchange: Exchange, log: str, live: Live | None, progress: Progress) -> Diagnosis:
        stop = threading.Event()
        known = self.trees.diagnose
        doubted = self._refuted.of(exchange)
        models = self.models or ()
        try:
            return await asyncio.to_thread(
                known,
                exchange,
                log=log,
                live=live,
                models=models,
                doubted=doubted,
                progress=progress,
                cancelled=stop.is_set,
            )
        finally:
            stop.set()

    async def check(self, request: Request, *, progress: Progress = silent) -> Diagnosis:
        """What the linked trees will refuse or ignore in a request that is not sent. Cancelling ends the work too."""
        stop = threading.Event()
        clean = self._keys.redacted_request(request)
        try:
            return await asyncio.to_thread(self.trees.check, clean, progress=progress, cancelled=stop.is_set)
        finally:
            stop.set()

    async def amend(self, finding: Finding, diagnosis: Diagnosis) -> Finding:
        """The finding with another diagnosis, kept beside its exchange."""
        return await self._kept(msgspec.structs.replace(finding, diagnosis=diagnosis))

    def apply(self, finding: Finding, n: int) -> list[Request]:
        """The complete requests of remedy `n`, from 1. Raises SessionError where there is none to send."""
        remedies = finding.diagnosis.remedies
        if not remedies:
            raise SessionError("The diagnosis offers no remedy.")
        if not 1 <= n <= len(remedies):
            raise SessionError(f"There is no remedy {n}; there are 1 to {len(remedies)}.")
        remedy = remedies[n - 1]
        if not remedy.requests:
            raise SessionError(f"Remedy {n} is to be done at the server, there is nothing to send: {remedy.title}")
        original = finding.exchange.request
        requests = [replacement(proposed, original) for proposed in remedy.requests]
        added = sorted({name for request in requests for name in names_added(request, original)})
        if added:
            raise SessionError(f"The remedy asks for secrets that the request did not hold ({', '.join(added)}).")
        return [self.prepared(request) for request in requests]

    async def try_remedy(
        self,
        finding: Finding,
        n: int,
        *,
        on_event: Callable[[StreamEvent], None] | None = None,
        progress: Progress = silent,
    ) -> Trial:
        """Sends remedy `n`; where it is refused too, that refusal is diagnosed. Raises SessionError."""
        sent = await self.send_in_order(self.apply(finding, n), on_event)
        return await self.settle(finding, n, sent, progress=progress)

    async def send_in_order(
        self, requests: Sequence[Request], on_event: Callable[[StreamEvent], None] | None = None
    ) -> list[SentExchange]:
        """As send(), one after the other; nothing is sent after the first that is not answered."""
        sent: list[SentExchange] = []
        for request in requests:
            sent.append(await self.send(request, on_event=on_event))
            if outcome(sent[-1].exchange) != "answered":
                break
        return sent

    async def settle(
        self,
        finding: Finding,
        n: int,
        sent: Sequence[SentExchange],
        *,
        follow: bool = True,
        progress: Progress = silent,
    ) -> Trial:
        """What the requests of remedy `n`, sent already, say of the diagnosis. `sent` holds at least one.

        Another refusal is diagnosed too; with `follow` the same one again as well. The same refusal lowers the
        diagnosis's kind for its next diagnosis.
        """
        last = sent[-1].exchange
        verdict, following = VERDICTS[outcome(last)], None
        if verdict == "refuted":
            verdict, following = await self._settled(finding, n, sent[-1], follow, progress)
        told = following.diagnosis.summary if following is not None else ""
        trail = (*finding.diagnosis.trail, *experiment(finding.diagnosis, n, verdict, last, told))
        diagnosis = msgspec.structs.replace(finding.diagnosis, trail=trail)
        settled = await self._kept(msgspec.structs.replace(finding, diagnosis=diagnosis))
        return Trial(verdict=verdict, sent=tuple(sent), finding=settled, next=following)

    async def _settled(
        self, finding: Finding, n: int, refused: SentExchange, follow: bool, progress: Progress
    ) -> tuple[Verdict, Finding | None]:
        """Whether a refused remedy met the same refusal or another one, and the diagnosis of that."""
        if same_words(finding.exchange, self.redacted(refused.exchange)):
            self._refuted.add(finding.exchange, finding.diagnosis, n, same=True)
            return "refuted", await self.diagnose(refused, progress=progress) if follow else None
        following = await self.diagnose(refused, progress=progress)
        verdict = verdict_on_another(refused.exchange)
        if same_place(finding.diagnosis, following.diagnosis):
            verdict = "refuted"
        if verdict != "no_answer":
            self._refuted.add(finding.exchange, finding.diagnosis, n, same=verdict == "refuted")
        return verdict, following
