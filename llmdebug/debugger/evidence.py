"""A diagnosis weighed with the server's tokenizer, and what it says of a request before that is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from llmdebug.debugger.session import Finding, Session
from llmdebug.debugger.tokenizing import Tokenizing
from llmdebug.diagnosis.question import parse_body
from llmdebug.diagnosis.tokenwise import converted, weighed
from llmdebug.diagnosis.verdict import Diagnosis, Kind, Remedy
from llmdebug.http.exchange import Request
from llmdebug.index.build import Index
from llmdebug.tokens.prompts import Prompt, prompts_of
from llmdebug.tokens.report import PromptTokens, TokenReport
from llmdebug.tokens.values import NobodyCountsError, TokenizerError

Progress = Callable[[str], None]

MAX_BODY = 20_000_000
OF_A_CHAT: frozenset[Kind] = frozenset({"context_length", "bad_value", "unsupported", "upstream", "other", "conflict"})
"""Kinds of a refusal that a chat template can be the reason of."""


def is_about_tokens(finding: Finding) -> bool:
    """Whether a tokenizer may have something to say of a refusal."""
    prompts = _prompts(finding.exchange.request)
    if any(prompt.form == "ids" for prompt in prompts) or finding.diagnosis.kind == "context_length":
        return bool(prompts)
    blames_a_chat = not finding.diagnosis.fields or any(
        field.pointer.startswith("/messages") for field in finding.diagnosis.fields
    )
    return blames_a_chat and finding.diagnosis.kind in OF_A_CHAT and any(prompt.form == "chat" for prompt in prompts)


async def with_tokens(session: Session, tokens: Tokenizing, finding: Finding, *, progress: Progress) -> Finding:
    """The finding with what the server's tokenizer says; without one, as it is, with a note why where one was given.

    Takes a second or more where the tokenizer is to be loaded; cancelling ends that.
    """
    body, _ = parse_body(finding.exchange.request.body)
    try:
        report = await tokens.read(body, progress=progress)
    except NobodyCountsError:
        return finding
    except TokenizerError as error:
        notes = (*finding.diagnosis.notes, f"tokens: {error}")
        return await session.amend(finding, msgspec.structs.replace(finding.diagnosis, notes=notes))

    def weigh(indexes: Sequence[Index]) -> Diagnosis:
        return weighed(finding.diagnosis, finding.exchange, report, indexes)

    return await session.amend(finding, await asyncio.to_thread(session.trees.together, weigh))


async def warning_of(tokens: Tokenizing, request: Request, *, progress: Progress) -> str:
    """What to say before a request is sent: its ids that have no token. Empty where there is nothing to say.

    Only ids are looked at, and only with a local tokenizer.
    """
    for prompt in _prompts(request):
        if prompt.form == "ids" and prompt.problem:
            return f"{prompt.pointer}: {prompt.problem}"
    try:
        return await outside_of(tokens, [request], progress=progress)
    except TokenizerError as error:
        return f"The ids of the request were not checked: {error}" if tokens.name else ""


async def outside_of(tokens: Tokenizing, requests: Sequence[Request], *, progress: Progress) -> str:
    """Which ids of requests have no token, as sentences; empty where all have one or no local tokenizer tells.

    Raises TokenizerError.
    """
    given = [prompt for request in requests for prompt in _prompts(request) if prompt.ids]
    local = await tokens.local(progress) if given else None
    if local is None:
        return ""
    for prompt in given:
        read = PromptTokens(prompt=prompt, reading=await local.decode(prompt.ids))
        if read.outside:
            told = (
                f"{prompt.pointer} holds ids out of the vocabulary of {local.vocabulary.size:,}: {read.outside_told}."
            )
            return f"{told} Some servers die of such ids."
    return ""


async def conversion(session: Session, request: Request, report: TokenReport) -> Remedy | None:
    """The request with its prompt in the other form, on a route that takes it; None where nothing can be converted."""

    def convert(indexes: Sequence[Index]) -> Remedy | None:
        return converted(request, report, indexes)

    return await asyncio.to_thread(session.trees.together, convert)


def _prompts(request: Request) -> list[Prompt]:
    if len(request.body) > MAX_BODY:
        return []
    body: Any
    body, _ = parse_body(request.body)
    return prompts_of(body)
