"""A tokenizer in its own process, asked from an event loop.

Whatever the tokenizer does (imports, Rust code that holds the interpreter, a template that never ends), the loop
goes on, and cancelling or closing ends it at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from llmdebug.tokens.place import find_tokenizer
from llmdebug.tokens.values import Cells, Chat, Reading, TemplateFault, TokenizerError, Vocabulary
from llmdebug.tokens.wire import (
    ANSWER_S,
    LENGTH,
    MAX_MESSAGE,
    STEP,
    Answer,
    Decode,
    Encode,
    Failed,
    Faulty,
    Load,
    Loaded,
    Order,
    Read,
    Render,
    Stage,
    packed,
    reading_of,
)

RENDER_S = 5.0
"""Longest a chat template may take; one of 20 MB of messages takes less than one."""
LOAD_S = 600.0
"""Longest a tokenizer may take to load, with its way from the hub."""
ROOT = str(Path(__file__).resolve().parents[2])
"""Where the process finds llmdebug itself, when it runs from a checkout."""
WIDEST_ID = 2**63
"""Ids from here on have no token anywhere, and do not fit into a message."""

Progress = Callable[[str], None]


def _silent(what: str) -> None:
    """Progress that nobody looks at."""


class LocalTokenizer:
    """Use as an async context manager, or close(); one order at a time, others wait for their turn."""

    def __init__(self, process: Process, vocabulary: Vocabulary) -> None:
        self._process = process
        self.vocabulary = vocabulary
        self._turn = asyncio.Lock()

    @classmethod
    async def load(cls, name: str, *, hub: bool = False, progress: Progress = _silent) -> LocalTokenizer:
        """The tokenizer of a folder, a `tokenizer.json` or a Hugging Face id; `hub` allows to fetch it.

        Raises TokenizerError. Cancelling ends the process.
        """
        await asyncio.to_thread(find_tokenizer, name)
        process = await _started(hub)
        try:
            answer = await _asked(process, Load(name, hub), LOAD_S, progress)
            if not isinstance(answer, Loaded):
                raise TokenizerError(_told(answer))
        except BaseException:
            await _ended(process)
            raise
        return cls(process, answer.vocabulary)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await _ended(self._process)

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    async def encode(self, text: str, *, special: bool = False, progress: Progress = _silent) -> Reading:
        """Raises TokenizerError."""
        return await self._reading(await self._ask(Encode(_sendable(text), special), progress))

    async def decode(self, ids: Sequence[int]) -> Reading:
        """Raises TokenizerError."""
        given = tuple(ids)
        sent = given
        if given and not -WIDEST_ID <= min(given) <= max(given) < WIDEST_ID:
            sent = tuple(id_ if -WIDEST_ID <= id_ < WIDEST_ID else -1 for id_ in given)
        reading = await self._reading(await self._ask(Decode(sent)))
        if sent == given:
            return reading
        cells = Cells(given, reading.cells.pieces, reading.cells.marks)
        return msgspec.structs.replace(reading, cells=cells)

    async def render(
        self, chat: Chat, template: str | None = None, *, progress: Progress = _silent
    ) -> Reading | TemplateFault:
        """The conversation as one text with its tokens. Raises TokenizerError."""
        try:
            order = Render(msgspec.json.encode(chat), template and _sendable(template), RENDER_S)
        except UnicodeEncodeError as error:
            raise TokenizerError("A text of the request holds half a surrogate pair: no UTF-8.") from error
        except RecursionError as error:
            raise TokenizerError("The request is nested too deep to be put together.") from error
        answer = await self._ask(order, progress)
        return answer.fault if isinstance(answer, Faulty) else await self._reading(answer)

    async def _reading(self, answer: Answer) -> Reading:
        if not isinstance(answer, Read):
            raise TokenizerError(_told(answer))
        if len(answer.marks) < STEP:
            return reading_of(answer)
        return await asyncio.to_thread(reading_of, answer)

    async def _ask(self, order: Order, progress: Progress = _silent) -> Answer:
        """An order that is given up ends the process: its answer would be taken for the next one's."""
        async with self._turn:
            if not self.is_alive:
                raise TokenizerError("The tokenizer's process has ended: load the tokenizer again.")
            try:
                return await _asked(self._process, order, ANSWER_S, progress)
            except BaseException:
                await _ended(self._process)
                raise


def _sendable(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise TokenizerError(f"Character {error.start} of the text is half a surrogate pair: no UTF-8.") from error
    return text


async def _started(hub: bool) -> Process:
    known = os.environ.get("PYTHONPATH")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([ROOT, known] if known else [ROOT]),
        "TOKENIZERS_PARALLELISM": "false",
        "TRANSFORMERS_VERBOSITY": "error",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        **({} if hub else {"HF_HUB_OFFLINE": "1"}),
    }
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",  # nothing is imported from the current folder
            "-m",
            "llmdebug.tokens.worker",
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C is for llmdebug, which ends it
        )
    except OSError as error:
        raise TokenizerError(f"The tokenizer's process cannot be started: {error.strerror or error}.") from error


async def _asked(process: Process, order: Order, seconds: float, progress: Progress) -> Answer:
    assert process.stdin is not None and process.stdout is not None
    message = packed(order)
    stage = Stage("the tokenizer", seconds)
    try:
        async with asyncio.timeout(seconds) as limit:
            process.stdin.write(message)
            await process.stdin.drain()
            while True:
                answer = await _received(process.stdout)
                if not isinstance(answer, Stage):
                    return answer
                stage = answer
                progress(stage.what)
                if stage.seconds is not None:
                    seconds = stage.seconds
                    limit.reschedule(asyncio.get_running_loop().time() + seconds)
    except TimeoutError as error:
        raise TokenizerError(f"No end of it within {seconds:g} s, so it was stopped: {stage.what}.") from error
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise TokenizerError(
            f"The tokenizer's process ended before it answered, perhaps for want of memory: {stage.what}."
        ) from error


async def _received(stream: asyncio.StreamReader) -> Answer:
    (length,) = LENGTH.unpack(await stream.readexactly(LENGTH.size))
    if length > MAX_MESSAGE:
        raise TokenizerError(f"The tokenizer's answer of {length:,} bytes is too long.")
    return msgspec.msgpack.decode(await stream.readexactly(length), type=Answer)


async def _ended(process: Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _told(answer: Answer) -> str:
    return answer.message if isinstance(answer, Failed) else "The tokenizer gave an answer to another question."
