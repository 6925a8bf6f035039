"""How tokens are chosen."""

from __future__ import annotations

from dataclasses import dataclass

MAX_LOGPROBS = 5
MAX_SEQUENCES = 8
MAX_TEMPERATURE = 2.0
GREEDY_EPSILON = 1e-5

TOO_MANY_SEQUENCES = "n must be at most %d, got %d."
TOO_MANY_LOGPROBS = "Requested sample logprobs of {}, which is greater than max allowed: {}"


@dataclass
class SamplingParams:
    max_new_tokens: int = 16
    min_new_tokens: int = 0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = -1
    n: int = 1
    seed: int | None = None
    stop: str | list[str] | None = None
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: dict[str, float] | None = None
    ignore_eos: bool = False
    logprobs: int | None = None

    @property
    def greedy(self) -> bool:
        return self.temperature < GREEDY_EPSILON

    @property
    def stop_texts(self) -> list[str]:
        if self.stop is None:
            return []
        return [self.stop] if isinstance(self.stop, str) else self.stop

    def verify(self) -> None:
        for name in ("max_new_tokens", "min_new_tokens", "top_k", "n", "logprobs"):
            if not isinstance(getattr(self, name), int | None):
                raise ValueError(f"{name} must be an integer")
        if self.n < 1:
            raise ValueError(f"n must be at least 1, got {self.n}.")
        if self.n > MAX_SEQUENCES:
            raise ValueError(TOO_MANY_SEQUENCES % (MAX_SEQUENCES, self.n))
        if not 0.0 <= self.temperature <= MAX_TEMPERATURE:
            raise ValueError(f"temperature must be in [0, {MAX_TEMPERATURE}], got {self.temperature}.")
        if not 0.0 < self.top_p <= 1.0:
            raise ValueError(f"top_p must be in (0, 1], got {self.top_p}.")
        for penalty in (self.presence_penalty, self.frequency_penalty):
            if not -2.0 <= penalty <= 2.0:
                raise ValueError(f"penalties must be in [-2, 2], got {penalty}.")
        if self.top_k < -1 or self.top_k == 0:
            raise ValueError(f"top_k must be -1 (disable), or at least 1, got {self.top_k}.")
        if self.max_new_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, got {self.max_new_tokens}.")
        if not 0 <= self.min_new_tokens <= self.max_new_tokens:
            raise ValueError(
                f"min_tokens must be between 0 and max_tokens={self.max_new_tokens}, got {self.min_new_tokens}."
            )
        if self.logprobs is not None and self.logprobs > MAX_LOGPROBS:
            raise ValueError(TOO_MANY_LOGPROBS.format(self.logprobs, MAX_LOGPROBS))
        if self.logit_bias is not None and not isinstance(self.logit_bias, dict):
            raise ValueError("logit_bias must map token ids to numbers")
        if any(not isinstance(text, str) or not text for text in self.stop_texts):
            raise ValueError("stop cannot contain an empty string.")
        self._verify_greedy()

    def _verify_greedy(self) -> None:
        if self.greedy and self.n > 1:
            raise ValueError("n must be 1 when using greedy sampling, got " + str(self.n) + ".")
