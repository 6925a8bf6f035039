"""What is known of a refusal that no line of the linked tree explains: whose it looks like, and what to link next."""

from __future__ import annotations

import re
from functools import lru_cache

from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.library import LIBRARIES, MOST
from llmdebug.diagnosis.question import Question
from llmdebug.families.family import Family
from llmdebug.families.load import load_families
from llmdebug.families.reading import refusal_of
from llmdebug.http.exchange import Response

ENOUGH_CERTAINTY = 0.3
"""A sign that many servers share names none of them."""
GATEWAY_STATUSES = frozenset({502, 503, 504})

_UPSTREAM = re.compile(
    r"\b(?:upstream|bad gateway|gateway time-?out|nginx|envoy|cloudflare|connection refused)\b", re.I
)


def what_is_known(question: Question, response: Response, ground: Ground) -> list[str]:
    """Sentences for the notes, the most telling first; none where nothing more is known."""
    text = question.answer.text
    if question.answer.shape == "html" or (response.status in GATEWAY_STATUSES and _UPSTREAM.search(text)):
        return ["a proxy or gateway before the server seems to have answered: its own log tells more"]
    found = []
    if (family := _speaker(response)) is not None:
        found.append(_of_family(family, ground))
    library = next((known.name for known in LIBRARIES if known.share(text) >= MOST), "")
    if library:
        found.append(f"the text is one of {library}, which the server uses: --log with the server's log shows the call")
    return found


@lru_cache(maxsize=1)
def _families() -> tuple[Family, ...]:
    """Those that are shipped."""
    return tuple(load_families().by_name.values())


def _speaker(response: Response) -> Family | None:
    """The family whose refusals look like this, by a sign that not everybody has."""
    telling = [family for family in _families() if any(s.certainty >= ENOUGH_CERTAINTY for s in family.errors)]
    return refusal_of(telling, response)


def _of_family(family: Family, ground: Ground) -> str:
    package = family.source.package
    prefix = f"{package}/"
    has_it = bool(package) and any(path.startswith(prefix) or f"/{prefix}" in path for path in ground.index.base())
    if has_it or ground.index.tree.root.name == package:
        return (
            f"the answer looks like one of {family.title}, and the linked tree is of it: what runs is another version, "
            "or a library or another process spoke; `llmdebug link URL` finds the version that runs"
        )
    names = [f"--source pypi:{name}==VERSION" for name in family.source.pypi[:1]]
    link = names[0] if names else f"--source git:{family.source.git}@TAG" if family.source.git else "--source"
    return f"the answer looks like one of {family.title}, of which the linked tree is not: link its source ({link})"
