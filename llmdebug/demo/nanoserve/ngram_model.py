"""A trigram model with absolute discounting."""

from __future__ import annotations

import struct
import sys
import zlib
from array import array
from collections.abc import Iterable
from pathlib import Path

DISCOUNT = 0.6
ORDERS = (1, 2, 3)

Context = tuple[int, ...]


class NgramModel:
    """Probabilities of the next token after the last two."""

    def __init__(self, path: Path, vocab_size: int) -> None:
        self.vocab_size = vocab_size
        self._followers: dict[Context, dict[int, int]] = {}
        for ngram, count in _read_rows(zlib.decompress(path.read_bytes())):
            self._followers.setdefault(ngram[:-1], {})[ngram[-1]] = count

    def probabilities(self, tokens: list[int]) -> list[float]:
        """The next token's distribution; each longer context refines what the shorter one says."""
        result = [1.0 / self.vocab_size] * self.vocab_size
        for order in ORDERS:
            start = len(tokens) - (order - 1)
            followers = self._followers.get(tuple(tokens[start:])) if start >= 0 else None
            if followers is None:
                break
            total = sum(followers.values())
            kept = DISCOUNT * len(followers) / total
            result = [kept * probability for probability in result]
            for token, count in followers.items():
                result[token] += (count - DISCOUNT) / total
        return result


def _read_rows(data: bytes) -> Iterable[tuple[Context, int]]:
    offset = 0
    for order in ORDERS:
        (rows,) = struct.unpack_from("<I", data, offset)
        offset += 4
        columns = []
        for _ in range(order + 1):
            column = array("H", data[offset : offset + 2 * rows])
            if sys.byteorder == "big":
                column.byteswap()
            columns.append(column)
            offset += 2 * rows
        for *ngram, count in zip(*columns, strict=True):
            yield tuple(ngram), count
