"""The tokenizer that was given to `diagnose`, asked of one recorded exchange after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import msgspec

from llmdebug.cli.stages import stages
from llmdebug.debugger.tokenizing import Tokenizing
from llmdebug.debugger.trees import LinkedTrees
from llmdebug.diagnosis.question import parse_body
from llmdebug.diagnosis.tokenwise import weighed
from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.exchange import Exchange
from llmdebug.index.build import Index
from llmdebug.tokens.values import TokenizerError


class RecordedTokens:
    """Use as a context manager. The tokenizer is loaded with the first exchange."""

    def __init__(self, name: str) -> None:
        self._tokens = Tokenizing(name=name)
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.run(self._tokens.close())
        self._runner.close()

    def weighed(self, exchange: Exchange, diagnosis: Diagnosis, trees: LinkedTrees) -> Diagnosis:
        """The diagnosis with what the tokenizer says; why it says nothing is a note."""
        body, _ = parse_body(exchange.request.body)
        try:
            with stages() as progress:
                report = self._runner.run(self._tokens.read(body, progress=progress))
        except TokenizerError as error:
            return msgspec.structs.replace(diagnosis, notes=(*diagnosis.notes, f"tokens: {error}"))

        def weigh(indexes: Sequence[Index]) -> Diagnosis:
            return weighed(diagnosis, exchange, report, indexes)

        return trees.together(weigh)
