"""Which options curl has, and which of them take a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

SHORT = {
    "X": "request", "H": "header", "d": "data", "u": "user", "b": "cookie", "A": "user-agent", "e": "referer",
    "F": "form", "G": "get", "I": "head", "T": "upload-file", "r": "range", ":": "next",
    "o": "output", "m": "max-time", "x": "proxy", "E": "cert", "w": "write-out", "c": "cookie-jar", "K": "config",
    "C": "continue-at", "D": "dump-header", "Q": "quote", "U": "proxy-user", "Y": "speed-limit", "y": "speed-time",
    "t": "telnet-option", "z": "time-cond", "P": "ftp-port", "h": "help",
}  # fmt: skip
"""Short options that count here or take a value; any other is a switch that does not change the request."""

_WITH_VALUE = """
request header data data-ascii data-raw data-binary data-urlencode json user cookie user-agent referer form
form-string upload-file range url url-query oauth2-bearer request-target variable expand-url expand-header
expand-data expand-json output max-time proxy cert write-out cookie-jar config continue-at dump-header quote
proxy-user speed-limit speed-time telnet-option time-cond ftp-port abstract-unix-socket alt-svc aws-sigv4 cacert
capath cert-type ciphers connect-timeout connect-to create-file-mode crlfile curves delegation dns-interface
dns-ipv4-addr dns-ipv6-addr dns-servers doh-url egd-file engine etag-compare etag-save expect100-timeout
happy-eyeballs-timeout-ms haproxy-clientip hostpubmd5 hostpubsha256 hsts interface ip-tos keepalive-cnt
keepalive-time key key-type krb libcurl limit-rate local-port login-options max-filesize max-redirs netrc-file
noproxy output-dir parallel-max pass pinnedpubkey preproxy proto proto-default proto-redir proxy-cacert
proxy-capath proxy-cert proxy-cert-type proxy-ciphers proxy-crlfile proxy-header proxy-key proxy-key-type
proxy-pass proxy-pinnedpubkey proxy-service-name proxy-tls13-ciphers proxy1.0 pubkey random-file rate resolve
retry retry-delay retry-max-time sasl-authzid service-name socks4 socks4a socks5 socks5-hostname stderr tls-max
tls13-ciphers tlsauthtype tlspassword tlsuser trace trace-ascii trace-config unix-socket vlan-priority
"""
_VALUED = frozenset(_WITH_VALUE.split())


class Option(NamedTuple):
    """`name` is the long one; empty for a URL, which is the value."""

    name: str
    value: str


class MissingValue(ValueError):
    """An option stands last that needs a value."""


def options_of(words: list[str]) -> Iterator[Option]:
    """The options of a command line behind `curl`. Raises MissingValue."""
    left = list(reversed(words))
    only_urls = False
    while left:
        word = left.pop()
        if only_urls or not word.startswith("-") or word == "-":
            yield Option("", word)
        elif word == "--":
            only_urls = True
        elif word.startswith("--"):
            yield _long(word[2:], left)
        else:
            yield from _short(word[1:], left)


def _long(name: str, left: list[str]) -> Option:
    """`--name=value` is no form of curl's, but people write it."""
    plain, equals, value = name.partition("=")
    if name in _VALUED:
        return Option(name, _next(f"--{name}", left))
    return Option(plain, value if equals else "")


def _short(letters: str, left: list[str]) -> Iterator[Option]:
    for at, letter in enumerate(letters):
        name = SHORT.get(letter, letter)
        if name not in _VALUED:
            yield Option(name, "")
            continue
        rest = letters[at + 1 :]
        yield Option(name, rest or _next(f"-{letter}", left))
        return


def _next(name: str, left: list[str]) -> str:
    if not left:
        raise MissingValue(f"The option {name} of this curl command has no value.")
    return left.pop()
