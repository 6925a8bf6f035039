"""URLs as curl makes them of what it is given.

`{one,two}` and `[1-10]` stand for several, the last of them counting fastest. What stands in doubled braces,
`{{secret:NAME}}` and the variables of a replay, is no part of it, nor is the address of an IPv6 host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

MOST = 1_000
"""URLs that one may stand for."""
_PIECE = re.compile(
    r"(?P<kept>\{\{[^{}]*\}\}|\[[0-9A-Fa-f:.%]*:[0-9A-Fa-f:.%\w]*\])|\\(?P<escaped>[{}\[\]])"
    r"|\{(?P<set>[^{}\[\]]*)\}|\[(?P<range>[^\[\]{}]*)\]|(?P<lone>[{}\[\]])"
)
_NUMBERS = re.compile(r"(\d{1,9})-(\d{1,9})(?::(\d{1,9}))?")
_LETTERS = re.compile(r"([a-zA-Z])-([a-zA-Z])(?::(\d{1,9}))?")


class GlobError(ValueError):
    """A URL that curl would refuse; the message is a sentence without its full stop."""


def urls_of(url: str) -> list[str]:
    """Raises GlobError."""
    pieces = list(_pieces(url))
    count = 1
    for values in pieces:
        count *= len(values)
    if count > MOST:
        raise GlobError(f"The URL stands for {count:,} URLs, more than {MOST:,}: -g takes it as it is written")
    return ["".join(chosen) for chosen in product(*pieces)]


def _pieces(url: str) -> Iterator[list[str]]:
    at = 0
    for match in _PIECE.finditer(url):
        yield [url[at : match.start()]]
        at = match.end()
        if match["kept"]:
            yield [match["kept"]]
        elif match["escaped"]:
            yield [match["escaped"]]
        elif match["set"] is not None:
            yield match["set"].split(",")
        elif match["range"] is not None:
            yield _range(match["range"], match.start())
        else:
            raise _refused(match["lone"], match.start())
    yield [url[at:]]


def _range(text: str, at: int) -> list[str]:
    numbers, letters = _NUMBERS.fullmatch(text), _LETTERS.fullmatch(text)
    found = numbers or letters
    if found is None or int(found[3] or 1) == 0:
        raise _refused(f"[{text}]", at)
    first, last = (int(found[1]), int(found[2])) if numbers else (ord(found[1]), ord(found[2]))
    steps = range(first, last + 1, int(found[3] or 1))
    if not steps or (letters and text[0].islower() != text[2].islower()):
        raise _refused(f"[{text}]", at)
    if len(steps) > MOST:
        raise GlobError(f"[{text}] stands for {len(steps):,} URLs, more than {MOST:,}")
    return [str(one).rjust(len(found[1]), "0") if numbers else chr(one) for one in steps]


def _refused(text: str, at: int) -> GlobError:
    return GlobError(
        f"curl takes {text} at position {at + 1} of the URL for a pattern and finds none: "
        "write a pattern as {a,b} or [1-9], or give -g to have the URL sent as it is written"
    )


def address_of(url: str, query: list[str], *, as_is: bool) -> str:
    """The address with its query, without fragment; with its dots where it is to be sent `as_is`."""
    address = url if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", url) else f"http://{url}"
    address = address.partition("#")[0]
    path, mark, given = address.partition("?")
    if not as_is:
        path = _without_dots(path)
    joined = "&".join([*([given] if mark and given else []), *(piece for piece in query if piece)])
    return path + ("?" + joined if joined or mark else "")


def _without_dots(address: str) -> str:
    """`/a/../b` as curl sends it: `/b`."""
    scheme, mark, rest = address.partition("://")
    place, slash, path = rest.partition("/")
    if not slash or "/." not in "/" + path:
        return address
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return f"{scheme}{mark}{place}/{'/'.join(kept)}"
