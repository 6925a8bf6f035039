"""Which headers, query parameters and body fields hold a secret, told by their names alone.

A name is read as words (`X-Goog-Api-Key`, `hf_token` and `clientSecret` alike) and judged by its last
one. What LLM servers call tokens and keys in ordinary fields (`stop_token`, `prompt_cache_key`) is none.
"""

from __future__ import annotations

import re

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LAST_WORDS = frozenset(
    {
        "key",
        "token",
        "secret",
        "password",
        "passwd",
        "passphrase",
        "authorization",
        "credential",
        "credentials",
    }
)
_RUN_TOGETHER = (
    "apikey",
    "authkey",
    "secretkey",
    "privatekey",
    "accesskey",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "bearertoken",
    "sessiontoken",
    "idtoken",
    "apitoken",
    "apisecret",
    "clientsecret",
)
_HEADER_ONLY = frozenset({"cookie", "cookie2", "auth", "signature"})
_ORDINARY_KEYS = frozenset(
    [
        "cache",
        "prompt",
        "sort",
        "primary",
        "foreign",
        "partition",
        "idempotency",
        "public",
        "routing",
        "group",
        "json",
        "object",
        "map",
        "dict",
        "sec",
        "row",
        "column",
        "lookup",
        "index",
        "config",
        "schema",
        "property",
        "metadata",
        "tag",
        "label",
        "join",
        "hash",
        "dedup",
        "dedupe",
        "field",
        "query",
        "order",
        "translation",
        "i18n",
        "message",
        "score",
        "hot",
        "short",
        "press",
        "pressed",
    ]
)
_ORDINARY_TOKENS = frozenset(
    [
        "eos",
        "bos",
        "pad",
        "unk",
        "sep",
        "cls",
        "mask",
        "stop",
        "start",
        "end",
        "image",
        "img",
        "audio",
        "video",
        "special",
        "added",
        "begin",
        "decoder",
        "forced",
        "first",
        "last",
        "next",
        "prev",
        "previous",
        "max",
        "min",
        "num",
        "new",
        "prompt",
        "completion",
        "input",
        "output",
        "draft",
        "page",
        "continuation",
        "tool",
        "call",
        "calls",
        "reasoning",
        "think",
        "thinking",
        "chunk",
        "fim",
        "prefix",
        "suffix",
        "middle",
        "top",
        "bad",
        "banned",
        "sampled",
        "suppress",
        "word",
        "sub",
        "per",
        "logprob",
        "placeholder",
        "generation",
        "cursor",
        "sync",
        "delimiter",
        "separator",
        "eot",
        "eom",
    ]
)


def is_secret_header(name: str) -> bool:
    words = _words(name)
    return _is_secret(words) or (bool(words) and words[-1] in _HEADER_ONLY) or name.lower() == "set-cookie"


def is_secret_parameter(name: str) -> bool:
    """Of a query or a form."""
    return _is_secret(_words(name)) or name.lower() in ("sig", "signature", "auth", "x-amz-signature")


def is_secret_field(name: str) -> bool:
    """Of a JSON body, for string values. A bare `key` or `token` is too ordinary there to be one."""
    words = _words(name)
    if words in (["key"], ["token"]):
        return False
    return _is_secret(words)


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORDS.findall(name)]


def _is_secret(words: list[str]) -> bool:
    if not words:
        return False
    last, before = words[-1], words[:-1]
    if last == "key":
        return not _ORDINARY_KEYS.intersection(before)
    if last == "token":
        return not _ORDINARY_TOKENS.intersection(before)
    return last in _LAST_WORDS or last.endswith(_RUN_TOGETHER)
