"""Why no answer came, told from the exception of the network: a kind, and one sentence for the user."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator

import h11
import httpx

from llmdebug.http.exchange import Failure, FailureKind

_UNREACHABLE = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN})
_NO_REASONS = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError)
"""Signs of an unblocked socket, which stand in the context of many an exception."""
_RESET = frozenset({errno.ECONNRESET, errno.EPIPE, errno.ECONNABORTED})
_RESET_BY_TLS = " Or it wants a client certificate: --client-cert."
_RESET_BY_PLAIN = " Or it does not speak plain HTTP there: try https://, or check the port."
"""What else may have happened: a server hangs up without a word on whoever does not speak as it wants."""


def failure_of(
    error: BaseException, *, where: str, proxy: str = "", tls: bool = False, answered: bool = False
) -> Failure:
    """`where` is host and port of the server, `proxy` those of a proxy in between.

    `tls` tells whether the connection was to be a TLS one, `answered` whether the answer had begun.
    """
    reasons = tuple(_reasons(error))
    kind = _kind(error, reasons, answered)
    if proxy and isinstance(error, httpx.ProxyError):
        return Failure(
            kind="proxy",
            message=f"The proxy {proxy} did not let the request to {where} through: {error}.",
        )
    if proxy and kind in ("dns", "refused", "unreachable", "connect_timeout"):
        told = _message(kind, reasons, proxy)
        return Failure(kind="proxy", message=f"The proxy cannot be reached. {told}")
    message = _message(kind, reasons, where)
    if kind == "reset":
        message += _RESET_BY_TLS if tls else _RESET_BY_PLAIN
    return Failure(kind=kind, message=message)


def _reasons(error: BaseException) -> Iterator[BaseException]:
    """The exception and everything that led to it, each once."""
    waiting: list[BaseException] = [error]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        if not isinstance(current, _NO_REASONS):
            yield current
        if isinstance(current, BaseExceptionGroup):
            waiting.extend(current.exceptions)
        waiting.extend(reason for reason in (current.__cause__, current.__context__) if reason is not None)


def _kind(error: BaseException, reasons: tuple[BaseException, ...], answered: bool) -> FailureKind:
    if isinstance(error, httpx.LocalProtocolError):
        return "bad_request"
    if isinstance(error, httpx.RemoteProtocolError):
        if answered:
            return "incomplete"
        return "not_http" if _any(reasons, h11.RemoteProtocolError) else "reset"
    if _any(reasons, socket.gaierror):
        return "dns"
    if _any(reasons, ssl.SSLError):
        return "tls"
    if _any(reasons, ConnectionRefusedError):
        return "refused"
    numbers = {reason.errno for reason in reasons if isinstance(reason, OSError)}
    if numbers & _UNREACHABLE:
        return "unreachable"
    if isinstance(error, httpx.ConnectTimeout) or errno.ETIMEDOUT in numbers:
        return "connect_timeout"
    if isinstance(error, httpx.ConnectError) and not numbers & _RESET:
        return "unreachable"
    return "incomplete" if answered else "reset"


def _any(reasons: tuple[BaseException, ...], kind: type[BaseException]) -> bool:
    return any(isinstance(reason, kind) for reason in reasons)


def _message(kind: FailureKind, reasons: tuple[BaseException, ...], where: str) -> str:
    if kind == "dns":
        host = where.rpartition(":")[0]
        return f"The name {host} cannot be resolved: check its spelling and the network's name server."
    if kind == "refused":
        return f"{where} refused the connection: nothing listens there. Check the server and the port."
    if kind == "unreachable":
        return f"{where} cannot be reached: {_detail(reasons)}. Check the network, VPN and address."
    if kind == "connect_timeout":
        return f"{where} did not take the connection in time. Check the address, and firewalls."
    if kind == "tls":
        return f"TLS with {where} failed: {_tls_detail(reasons)}"
    if kind == "not_http":
        return f"{where} answered something that is not HTTP: {_not_http_detail(reasons)}"
    if kind == "incomplete":
        return f"{where} broke off in the middle of its answer: {_detail(reasons)}. What arrived is kept."
    if kind == "bad_request":
        return f"The request cannot be sent as HTTP: {_detail(reasons)}."
    return f"{where} closed the connection without an answer: look into the server's log, it may have died."


def _detail(reasons: tuple[BaseException, ...]) -> str:
    texts = [str(reason).strip().rstrip(".") for reason in reasons]
    os_texts = [reason.strerror for reason in reasons if isinstance(reason, OSError) and reason.strerror]
    told = [text for text in (*os_texts, *texts) if text]
    return told[0] if told else "the connection was lost"


def _tls_detail(reasons: tuple[BaseException, ...]) -> str:
    for reason in reasons:
        if isinstance(reason, ssl.SSLCertVerificationError):
            return (
                f"its certificate is not trusted ({reason.verify_message}). "
                "Name its authority with --ca-file, or check nothing with --insecure."
            )
    for reason in reasons:
        if isinstance(reason, ssl.SSLError):
            told = (reason.reason or str(reason)).replace("_", " ").lower()
            if "wrong version number" in told or "record layer failure" in told:
                return "it does not speak TLS there. Try http:// instead of https://."
            if "certificate required" in told or "handshake failure" in told or "alert" in told:
                return f"the server ended it ({told}). It may want a client certificate: --client-cert."
            return f"{told}."
    return "the handshake broke off."


def _not_http_detail(reasons: tuple[BaseException, ...]) -> str:
    told = next((str(reason) for reason in reasons if isinstance(reason, h11.RemoteProtocolError)), "")
    shown = told if len(told) <= 200 else told[:200] + "…"
    hint = "Try https:// instead of http://." if "\\x15\\x03" in told else "Check the port."
    return f"{shown.rstrip('.')}. {hint}"
