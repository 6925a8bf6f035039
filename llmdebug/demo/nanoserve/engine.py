"""Runs the model: one token after the other."""

from __future__ import annotations

import asyncio
import bisect
import itertools
import math
import random
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass

from .ngram_model import NgramModel
from .sampling import SamplingParams
from .tokenizer import Tokenizer


@dataclass(frozen=True)
class Step:
    """A chosen token, with the model's own log probabilities (before temperature and bias)."""

    token_id: int
    logprob: float
    top: list[tuple[int, float]]
    """The likeliest tokens, as many as were asked for."""


class Engine:
    def __init__(self, model: NgramModel, tokenizer: Tokenizer, token_interval: float = 0.0) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self._token_interval = token_interval

    async def generate(self, prompt_ids: list[int], params: SamplingParams, index: int = 0) -> AsyncIterator[Step]:
        """Yields tokens until the limit; the last one may be the end-of-sequence token."""
        bias = self._bias(params)
        chooser = random.Random(None if params.seed is None else f"{params.seed}/{index}")
        tokens = list(prompt_ids)
        counts: Counter[int] = Counter()
        for position in range(params.max_new_tokens):
            await asyncio.sleep(self._token_interval)
            probabilities = self.model.probabilities(tokens)
            blocked = params.ignore_eos or position < params.min_new_tokens
            scores = self._scores(probabilities, params, bias, counts, blocked)
            token_id = _choose(scores, params, chooser)
            tokens.append(token_id)
            counts[token_id] += 1
            yield _step(token_id, probabilities, params.logprobs or 0)
            if token_id == self.tokenizer.eos_token_id:
                return

    def score(self, tokens: list[int], top: int) -> list[Step | None]:
        """What the model thinks of given tokens; nothing of the first, which has no context."""
        return [
            _step(token, self.model.probabilities(tokens[:position]), top) if position else None
            for position, token in enumerate(tokens)
        ]

    def _bias(self, params: SamplingParams) -> dict[int, float]:
        bias = {int(token): float(value) for token, value in (params.logit_bias or {}).items()}
        for token_id in bias:
            if token_id < 0 or token_id >= self.tokenizer.vocab_size:
                raise ValueError(f"token_id {token_id} in logit_bias contains out-of-vocab token id")
        return bias

    def _scores(
        self,
        probabilities: list[float],
        params: SamplingParams,
        bias: dict[int, float],
        counts: Counter[int],
        eos_blocked: bool,
    ) -> list[float]:
        scores = [math.log(probability) for probability in probabilities]
        for token, count in counts.items():
            scores[token] -= params.presence_penalty + params.frequency_penalty * count
        for token, value in bias.items():
            scores[token] += value
        if eos_blocked:
            scores[self.tokenizer.eos_token_id] = -math.inf
        return scores


def _choose(scores: list[float], params: SamplingParams, chooser: random.Random) -> int:
    ranked = sorted(range(len(scores)), key=lambda token: (-scores[token], token))
    if params.greedy:
        return ranked[0]
    if params.top_k > 0:
        ranked = ranked[: params.top_k]
    best = scores[ranked[0]]
    weights = [math.exp((scores[token] - best) / params.temperature) for token in ranked]
    reached = list(itertools.accumulate(weights))
    kept = bisect.bisect_left(reached, params.top_p * reached[-1]) + 1
    return chooser.choices(ranked[:kept], weights[:kept])[0]


def _step(token_id: int, probabilities: list[float], top: int) -> Step:
    likeliest = sorted(range(len(probabilities)), key=lambda token: (-probabilities[token], token))[:top]
    return Step(
        token_id=token_id,
        logprob=math.log(probabilities[token_id]),
        top=[(token, math.log(probabilities[token])) for token in likeliest],
    )
