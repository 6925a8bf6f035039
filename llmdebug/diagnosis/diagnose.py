"""The pipeline, top to bottom: an exchange and the indexes of the linked trees give a diagnosis."""

from __future__ import annotations

from collections.abc import Sequence

from llmdebug.diagnosis.verdict import Diagnosis
from llmdebug.http.exchange import Exchange
from llmdebug.index.build import Index


def diagnose(exchange: Exchange, indexes: Sequence[Index] = ()) -> Diagnosis:
    """What llmdebug has to say of an exchange; the nearest tree (the gateway) comes first in `indexes`.

    Never raises for what an exchange or a tree holds; raises Cancelled where the index was told to stop.
    """
    raise NotImplementedError
