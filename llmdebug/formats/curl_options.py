"""Which options curl has, which of them take a value, and which change a request in a way that is not followed here."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SHORT = {
    "X": "request", "H": "header", "d": "data", "u": "user", "b": "cookie", "A": "user-agent", "e": "referer",
    "F": "form", "G": "get", "I": "head", "T": "upload-file", "r": "range", ":": "next", "g": "globoff",
    "o": "output", "m": "max-time", "x": "proxy", "E": "cert", "w": "write-out", "c": "cookie-jar", "K": "config",
    "C": "continue-at", "D": "dump-header", "Q": "quote", "U": "proxy-user", "Y": "speed-limit", "y": "speed-time",
    "t": "telnet-option", "z": "time-cond", "P": "ftp-port", "h": "help", "a": "append", "q": "disable", "f": "fail",
    "0": "http1.0", "i": "include", "k": "insecure", "4": "ipv4", "6": "ipv6", "j": "junk-session-cookies",
    "l": "list-only", "L": "location", "M": "manual", "n": "netrc", "N": "no-buffer", "Z": "parallel",
    "#": "progress-bar", "p": "proxytunnel", "J": "remote-header-name", "O": "remote-name", "R": "remote-time",
    "S": "show-error", "s": "silent", "2": "sslv2", "3": "sslv3", "1": "tlsv1", "B": "use-ascii", "v": "verbose",
    "V": "version",
}  # fmt: skip

_WITH_VALUE = """
request header data data-ascii data-raw data-binary data-urlencode json user cookie user-agent referer form
form-string upload-file range url url-query oauth2-bearer request-target variable expand-url expand-header
expand-data expand-json expand-form expand-user output max-time proxy cert write-out cookie-jar config continue-at
dump-header quote proxy-user speed-limit speed-time telnet-option time-cond ftp-port abstract-unix-socket alt-svc
aws-sigv4 cacert capath cert-type ciphers connect-timeout connect-to create-file-mode crlfile curves delegation
dns-interface dns-ipv4-addr dns-ipv6-addr dns-servers doh-url ech egd-file engine etag-compare etag-save
expect100-timeout ftp-account ftp-alternative-to-user ftp-method ftp-ssl-ccc-mode happy-eyeballs-timeout-ms
haproxy-clientip help hostpubmd5 hostpubsha256 hsts interface ip-tos ipfs-gateway keepalive-cnt keepalive-time key
key-type krb libcurl limit-rate local-port login-options mail-auth mail-from mail-rcpt max-filesize max-redirs
netrc-file noproxy output-dir parallel-max pass pinnedpubkey preproxy proto proto-default proto-redir proxy-cacert
proxy-capath proxy-cert proxy-cert-type proxy-ciphers proxy-crlfile proxy-header proxy-key proxy-key-type
proxy-pass proxy-pinnedpubkey proxy-service-name proxy-tls13-ciphers proxy-tlsauthtype proxy-tlspassword
proxy-tlsuser proxy1.0 pubkey random-file rate resolve retry retry-delay retry-max-time sasl-authzid service-name
socks4 socks4a socks5 socks5-gssapi-service socks5-hostname stderr tftp-blksize tls-max tls13-ciphers tlsauthtype
tlspassword tlsuser trace trace-ascii trace-config unix-socket vlan-priority
"""
_SWITCH = """
anyauth append basic ca-native cert-status compressed compressed-ssh create-dirs crlf digest disable disable-eprt
disable-epsv disallow-username-in-url doh-cert-status doh-insecure fail fail-early fail-with-body false-start
form-escape ftp-create-dirs ftp-pasv ftp-pret ftp-skip-pasv-ip ftp-ssl-ccc ftp-ssl-control get globoff
haproxy-protocol head http0.9 http1.0 http1.1 http2 http2-prior-knowledge http3 http3-only ignore-content-length
include insecure ipv4 ipv6 junk-session-cookies list-only location location-trusted mail-rcpt-allowfails manual
metalink mptcp negotiate netrc netrc-optional next ntlm ntlm-wb parallel parallel-immediate path-as-is post301
post302 post303 progress-bar proxy-anyauth proxy-basic proxy-ca-native proxy-digest proxy-http2 proxy-insecure
proxy-negotiate proxy-ntlm proxy-ssl-allow-beast proxy-ssl-auto-client-cert proxy-tlsv1 proxytunnel raw
remote-header-name remote-name remote-name-all remote-time remove-on-error retry-all-errors retry-connrefused
sasl-ir show-error show-headers silent skip-existing socks5-basic socks5-gssapi socks5-gssapi-nec ssl
ssl-allow-beast ssl-auto-client-cert ssl-no-revoke ssl-reqd ssl-revoke-best-effort sslv2 sslv3 styled-output
suppress-connect-headers tcp-fastopen tcp-nodelay tftp-no-options tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 tr-encoding
trace-ids trace-time use-ascii verbose version xattr
alpn buffer clobber keepalive npn progress-meter sessionid
"""
"""The last line has those that people give as --no-NAME."""
_VALUED = frozenset(_WITH_VALUE.split())
_SWITCHES = frozenset(_SWITCH.split())
_NOT_FOLLOWED = {
    **dict.fromkeys(("digest", "ntlm", "ntlm-wb", "negotiate", "anyauth", "aws-sigv4"), "signs in its own way"),
    **dict.fromkeys(("netrc", "netrc-optional", "netrc-file"), "takes the password from another file"),
    **dict.fromkeys(("time-cond", "etag-compare"), "adds a header that depends on a file"),
    **dict.fromkeys(
        ("variable", "expand-url", "expand-header", "expand-data", "expand-json", "expand-form", "expand-user"),
        "uses curl's own variables",
    ),
    "tr-encoding": "asks for a compressed transfer",
    "request-target": "sends another target than the URL's",
}


class Word(NamedTuple):
    """A word of a command line."""

    text: str
    line: int


class Option(NamedTuple):
    """`name` is the long one; empty for a URL, which is the value."""

    name: str
    value: str
    line: int


class OptionError(ValueError):
    """An option that cannot be followed; the message is a sentence without its full stop."""

    def __init__(self, told: str, line: int) -> None:
        super().__init__(told)
        self.line = line


def options_of(words: Sequence[Word]) -> Iterator[Option]:
    """The options of a command line behind `curl`. Raises OptionError."""
    left = list(reversed(words))
    only_urls = False
    while left:
        text, line = left.pop()
        if only_urls or not text.startswith("-") or text == "-":
            yield Option("", text, line)
        elif text == "--":
            only_urls = True
        elif text.startswith("--"):
            yield long_option(text[2:], line, left)
        else:
            yield from _short(text[1:], line, left)


def long_option(name: str, line: int, left: list[Word]) -> Option:
    """`--name=value` is no form of curl's, but people write it. `left` are the words behind, the next one last."""
    plain, equals, value = name.partition("=")
    if plain in _NOT_FOLLOWED:
        raise OptionError(f"The option --{plain} {_NOT_FOLLOWED[plain]}: it is not followed here", line)
    if plain in _VALUED:
        return Option(plain, value if equals else _next(f"--{plain}", line, left), line)
    if not equals and (plain in _SWITCHES or plain.removeprefix("no-") in _SWITCHES):
        return Option(plain, "", line)
    near = difflib.get_close_matches(plain, _VALUED | _SWITCHES, n=1)
    raise OptionError(f"curl has no option --{plain}" + (f"; it has --{near[0]}" if near else ""), line)


def _short(letters: str, line: int, left: list[Word]) -> Iterator[Option]:
    for at, letter in enumerate(letters):
        name = SHORT.get(letter)
        if name is None:
            raise OptionError(f"curl has no option -{letter}" + (f" (in -{letters})" if letters[1:] else ""), line)
        rest = letters[at + 1 :]
        if name in _VALUED and rest:
            yield Option(name, rest, line)
            return
        yield long_option(name, line, left)


def _next(name: str, line: int, left: list[Word]) -> str:
    if not left:
        raise OptionError(f"The option {name} of this curl command has no value", line)
    return left.pop().text
