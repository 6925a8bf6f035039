"""From the engine's tokens to text, piece by piece, with stop sequences."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from .engine import Engine, Step
from .sampling import SamplingParams
from .tokenizer import TextStream


@dataclass(frozen=True)
class Piece:
    """What one token added. The last piece has a finish reason and may have no token."""

    text: str
    step: Step | None = None
    finish_reason: str | None = None


@dataclass
class Sequence:
    """A finished text."""

    text: str = ""
    steps: list[Step] = field(default_factory=list)
    finish_reason: str | None = None

    def add(self, piece: Piece) -> None:
        self.text += piece.text
        self.finish_reason = piece.finish_reason or self.finish_reason
        if piece.step is not None:
            self.steps.append(piece.step)

    @property
    def mean_logprob(self) -> float:
        return sum(step.logprob for step in self.steps) / max(len(self.steps), 1)


async def stream(engine: Engine, prompt_ids: list[int], params: SamplingParams, index: int = 0) -> AsyncIterator[Piece]:
    text_stream = TextStream(engine.tokenizer)
    held = ""
    async for step in engine.generate(prompt_ids, params, index):
        if step.token_id == engine.tokenizer.eos_token_id:
            yield Piece(held + text_stream.finish(), finish_reason="stop")
            return
        held += text_stream.push(step.token_id)
        if (end := _stop_position(held, params.stop_texts)) is not None:
            yield Piece(held[:end], step, finish_reason="stop")
            return
        ready = len(held) - _possible_stop(held, params.stop_texts)
        yield Piece(held[:ready], step)
        held = held[ready:]
    yield Piece(held + text_stream.finish(), finish_reason="length")


async def collect(engine: Engine, prompt_ids: list[int], params: SamplingParams, index: int = 0) -> Sequence:
    sequence = Sequence()
    async for piece in stream(engine, prompt_ids, params, index):
        sequence.add(piece)
    return sequence


def _stop_position(text: str, stops: list[str]) -> int | None:
    return min((found for stop in stops if (found := text.find(stop)) >= 0), default=None)


def _possible_stop(text: str, stops: list[str]) -> int:
    """The length of the text's end that may be the beginning of a stop sequence."""
    lengths = (
        length
        for stop in stops
        for length in range(min(len(stop) - 1, len(text)), 0, -1)
        if text.endswith(stop[:length])
    )
    return max(lengths, default=0)
