"""Which headers, query parameters and body fields hold a secret, told by their names alone.

A name is read as words (`X-Goog-Api-Key`, `hf_token` and `clientSecret` alike) and judged by its last
one. What LLM servers call tokens and keys in ordinary fields (`stop_token`, `prompt_cache_key`) is none.
"""

from __future__ import annotations

import re

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]


_SECRET = frozenset(_words("secret password passwd passphrase authorization credential credentials"))
_SECRET_HEADER = frozenset(_words("cookie auth signature"))
_SECRET_PARAMETER = frozenset(_words("auth sig signature"))
_RUN_TOGETHER = tuple(
    _words(
        "apikey authkey secretkey privatekey accesskey authtoken accesstoken refreshtoken bearertoken "
        "sessiontoken idtoken apitoken apisecret clientsecret"
    )
)
_SESSION = (["session"], ["session", "id"], ["sessionid"])
"""What a header ends with that stands for who is logged in."""
_SECRET_PARAMETERS = (["code"], ["auth", "code"], ["authorization", "code"])
"""What OAuth sends its user back with; a code of another kind has another name."""
_ORDINARY_KEYS = frozenset(
    _words(
        "cache prompt sort primary foreign partition idempotency public routing group json object map dict "
        "row column lookup index config schema property metadata tag label join hash dedup dedupe field "
        "query order translation message score hot socket press pressed"
    )
)
"""`cache_key` and its like; `socket` for Sec-WebSocket-Key."""
_ORDINARY_TOKENS = frozenset(
    _words(
        "eos bos pad unk sep cls mask stop start end image img audio video special added begin decoder "
        "forced first last next prev previous max min num new prompt completion input output draft page "
        "continuation tool call calls reasoning think thinking chunk fim prefix suffix middle top bad "
        "banned sampled suppress word sub per logprob placeholder generation cursor sync delimiter "
        "separator eot eom"
    )
)
"""`eos_token` and its like."""


def is_secret_header(name: str) -> bool:
    words = _words(name)
    if words[-2:] in _SESSION or words[-1:] in _SESSION:
        return True
    return _is_secret(words) or (bool(words) and words[-1] in _SECRET_HEADER)


def is_secret_parameter(name: str) -> bool:
    """Of a query or a form."""
    words = _words(name)
    if words in _SECRET_PARAMETERS:
        return True
    return _is_secret(words) or (bool(words) and words[-1] in _SECRET_PARAMETER)


def is_secret_field(name: str) -> bool:
    """Of a JSON body, for string values. A bare `key` or `token` is too ordinary there to be one."""
    words = _words(name)
    return words not in (["key"], ["token"]) and _is_secret(words)


def _is_secret(words: list[str]) -> bool:
    if not words:
        return False
    last, before = words[-1], words[:-1]
    if last == "key":
        return not _ORDINARY_KEYS.intersection(before)
    if last == "token":
        return not _ORDINARY_TOKENS.intersection(before)
    return last in _SECRET or last.endswith(_RUN_TOGETHER)
