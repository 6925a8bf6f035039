"""The tokens of requests: finds the tokenizer of a server, or asks the server itself, and reads prompts with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from llmdebug.linking.server import Server
from llmdebug.tokens.chat import ChatError, chat_of, media_of
from llmdebug.tokens.process import LocalTokenizer
from llmdebug.tokens.prompts import Prompt, budget_of, left_out, prompts_of
from llmdebug.tokens.report import PromptTokens, TokenReport
from llmdebug.tokens.server import ServerTokenizer
from llmdebug.tokens.values import (
    Cells,
    NoAnswerError,
    NobodyCountsError,
    Reading,
    TemplateFault,
    TokenizerError,
    first_id_difference,
    first_text_difference,
)

if TYPE_CHECKING:
    from llmdebug.debugger.session import Session

Progress = Callable[[str], None]

LIMIT = "tokens of a request and its answer"
"""What families call the limit of the context."""

NO_SERVER = Server(problem="There is no server to ask.")


class Tokenizing:
    """Use as an async context manager, or close()."""

    def __init__(self, session: Session | None = None, *, name: str = "") -> None:
        """`session` is that of the server; `name` is the tokenizer that the user gave: folder, file or hub id."""
        self._session = session
        self.name = name
        self._local: LocalTokenizer | None = None
        self._local_of: str | None = None
        """The name it was sought under."""
        self._loading = asyncio.Lock()
        self.why_not_local = ""
        """Why there is no local tokenizer, as a sentence; empty where there is, or where none was sought."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        if self._local is not None:
            await self._local.close()
            self._local = None

    def use(self, name: str) -> None:
        """Another tokenizer from now on; it is loaded when it is needed."""
        self.name = name

    async def served(self) -> Server:
        """What the server says of itself; asked once a session, with GET only."""
        return await self._session.probe() if self._session is not None else NO_SERVER

    async def local(self, progress: Progress) -> LocalTokenizer | None:
        """The tokenizer that was given, else that of the folder the server says it serves.

        None where there is none: `why_not_local` tells. Raises TokenizerError for one that was given.
        """
        async with self._loading:
            ended = self._local is not None and not self._local.is_alive
            if self._local_of != self.name or ended:
                await self.close()
                self._local = await self._loaded(progress)
                self._local_of = self.name
            return self._local

    async def _loaded(self, progress: Progress) -> LocalTokenizer | None:
        self.why_not_local = ""
        if self.name:
            return await LocalTokenizer.load(self.name, hub=True, progress=progress)
        for name in (await self.served()).tokenizers:
            try:
                found = await LocalTokenizer.load(name, progress=progress)
            except TokenizerError as error:
                self.why_not_local = str(error)
            else:
                self.why_not_local = ""
                return found
        untold = (await self.served()).problem or "The server does not say where its tokenizer is."
        self.why_not_local = self.why_not_local or untold
        return None

    async def read(self, body: Any, *, progress: Progress, compare: bool = False) -> TokenReport:
        """The tokens of a request's body; `compare` holds local tokens against the server's own.

        Raises TokenizerError where neither a local tokenizer nor the server tells.
        """
        prompts = prompts_of(body)
        local = await self.local(progress)
        served = await self.served()
        if local is None and self._server(served) is None:
            raise NobodyCountsError(self.why_not_local, silent=served.silent)
        found = []
        for prompt in prompts:
            progress(f"tokens of {prompt.pointer}")
            found.append(await self._of_prompt(prompt, body, local, served, progress))
        vocabulary = local.vocabulary if local is not None else None
        limit, source = _limit(served), "the server says so"
        if limit is None and vocabulary is not None:
            limit, source = vocabulary.limit, vocabulary.limit_from
        report = TokenReport(
            vocabulary=vocabulary,
            prompts=tuple(found),
            budget=budget_of(body),
            limit=limit,
            limit_from=source if limit is not None else "",
            notes=left_out(body, prompts),
        )
        return await self.compared(report, body, progress=progress) if compare else report

    async def compared(self, report: TokenReport, body: Any, *, progress: Progress) -> TokenReport:
        """With the server's own tokens beside the local ones, where there are such and the server gives them.

        Ids without a token are never sent: some servers die of them.
        """
        server = self._server(await self.served())
        if report.vocabulary is None:
            return report
        found: list[PromptTokens] = []
        silent = "" if server is not None else "The server tells no tokens."
        for prompt in report.prompts:
            if prompt.reading is None:
                found.append(prompt)
                continue
            if prompt.outside:
                found.append(_uncompared(prompt, "some servers die of ids out of the vocabulary."))
                continue
            if server is None or silent:
                found.append(_uncompared(prompt, silent))
                continue
            progress(f"asking the server for the tokens of {prompt.prompt.pointer}")
            try:
                found.append(await _compared(prompt, body, server))
            except TokenizerError as error:
                silent = str(error) if isinstance(error, NoAnswerError) else ""
                found.append(_uncompared(prompt, str(error)))
        return msgspec.structs.replace(report, prompts=tuple(found))

    async def _of_prompt(
        self, prompt: Prompt, body: Any, local: LocalTokenizer | None, served: Server, progress: Progress
    ) -> PromptTokens:
        if prompt.problem:
            return PromptTokens(prompt=prompt, problem=prompt.problem)
        try:
            if local is None:
                return await self._from_server(prompt, served, _special(body))
            if prompt.form == "ids":
                return PromptTokens(prompt=prompt, reading=await local.decode(prompt.ids))
            if prompt.form == "text":
                reading = await local.encode(prompt.text, special=_special(body), progress=progress)
                return PromptTokens(prompt=prompt, reading=reading)
            return await _of_chat(prompt, body, local, progress)
        except ChatError as error:
            place = Prompt(pointer=error.pointer, form=prompt.form)
            return PromptTokens(prompt=place, problem=str(error))
        except TokenizerError as error:
            return PromptTokens(prompt=prompt, problem=str(error))

    async def _from_server(self, prompt: Prompt, served: Server, special: bool) -> PromptTokens:
        """Ids without pieces, or a text: more a server does not tell."""
        if prompt.form == "chat":
            raise TokenizerError(
                f"A chat template needs the model's own files. {self.why_not_local} Give its folder as --tokenizer."
            )
        server = self._server(served)
        if server is None:
            raise NobodyCountsError(self.why_not_local, silent=served.silent)
        if prompt.form == "ids":
            text, ids = await server.decode(prompt.ids), prompt.ids
        else:
            text, ids = prompt.text, await server.encode(prompt.text, special=special)
        cells = Cells(ids, (b"",) * len(ids), "t" * len(ids))
        return PromptTokens(
            prompt=prompt,
            reading=Reading(text=text, cells=cells),
            notes=("The server itself was asked; it does not tell what single tokens are.",),
        )

    def _server(self, served: Server) -> ServerTokenizer | None:
        """The server's own tokenizer; None where it has none that is known."""
        if self._session is None or not self._session.base_url or served.tokenize is None:
            return None
        model = served.models[0] if served.models else ""
        return ServerTokenizer(self._session.fetch, self._session.base_url, served.tokenize, model)


async def _compared(read: PromptTokens, body: Any, server: ServerTokenizer) -> PromptTokens:
    """Raises TokenizerError."""
    assert read.reading is not None
    text, cells = read.reading.text, read.reading.cells
    if read.prompt.form == "ids":
        difference = first_text_difference(text, await server.decode(cells.ids))
    else:
        special = read.prompt.form == "text" and _special(body)
        difference = first_id_difference(cells.ids, await server.encode(text, special=special))
    note = "The server's own tokens are the same." if difference is None else "The server's own tokens differ."
    return msgspec.structs.replace(read, server=difference, notes=(*read.notes, note))


def _uncompared(read: PromptTokens, why: str) -> PromptTokens:
    return msgspec.structs.replace(read, notes=(*read.notes, f"Not compared with the server: {why}"))


def _limit(served: Server) -> int | None:
    """Tokens of the context, as the server says."""
    told = served.limits.get(LIMIT, "")
    return int(told) if told.isdecimal() and len(told) < 12 and int(told) > 0 else None


async def _of_chat(prompt: Prompt, body: Any, local: LocalTokenizer, progress: Progress) -> PromptTokens:
    template = body.get("chat_template") if isinstance(body.get("chat_template"), str) else None
    rendered = await local.render(chat_of(body), template, progress=progress)
    if isinstance(rendered, TemplateFault):
        index = rendered.index
        place = prompt if index is None else Prompt(pointer=f"/messages/{index}", form="chat")
        return PromptTokens(prompt=place, fault=rendered)
    media = media_of(body)
    notes = (f"Not counted, as it is no text: {', '.join(media[:4])}.",) if media else ()
    return PromptTokens(prompt=prompt, reading=rendered, notes=notes)


def _special(body: Any) -> bool:
    """Servers put a text's special tokens around it unless they are told not to."""
    return not isinstance(body, dict) or body.get("add_special_tokens") is not False
