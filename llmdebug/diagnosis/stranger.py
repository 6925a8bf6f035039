"""Names that an answer gives away of the server's own code, and that a tree lacks: it was said by another server.

Validation libraries print the classes and validators that refused, recent frameworks the file of the route. What the
request itself brought in is no such name.
"""

from __future__ import annotations

import re

from llmdebug.diagnosis.ground import Ground
from llmdebug.diagnosis.logplaces import LogPlaces
from llmdebug.diagnosis.question import Question
from llmdebug.formats.serverlog import Frame

LIBRARY_TITLES = frozenset({"ValidatorIterator", "RequestValidationError"})
"""Names that a validation library gives to what is no class of the server."""
MAX_NAMES = 6
MAX_TEXT = 20_000

_FILE = re.compile(r'\bFile \\?"([^"\\]{1,400}\.py)\\?", line (\d{1,7})')
_VALIDATOR = re.compile(r"function-(?:before|after|wrap|plain)\[(\w{3,80})\(")
_CLASS = re.compile(r"[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+")


def strange_name(ground: Ground, question: Question) -> str:
    """The first of such names; empty where there is none."""
    text, sent = question.answer_body[:MAX_TEXT], question.request.body.decode("utf-8", "replace")
    files: list[tuple[str, str]] = list(dict.fromkeys(_FILE.findall(text)))[:MAX_NAMES]
    for path, line in files:
        if path not in sent and not LogPlaces(ground.index).has_file(Frame(path, int(line))):
            return path
    titles = [c.title.partition("[")[0] for c in question.answer.complaints]
    named: list[str] = [
        *_VALIDATOR.findall(text),
        *(t for t in titles if _CLASS.fullmatch(t) and t not in LIBRARY_TITLES),
    ]
    for name in list(dict.fromkeys(named))[:MAX_NAMES]:
        if name not in sent and not ground.index.search.holding(name):
            return name
    return ""
