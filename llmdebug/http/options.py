"""How the client connects: time limits, proxies, certificates."""

from __future__ import annotations

import os
import ssl
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

import certifi
import httpx
import msgspec


class ClientOptionsError(ValueError):
    """An option cannot be used; the message is a sentence for the user."""


class ClientOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Times are seconds; None waits for ever."""

    connect_timeout_s: float | None = 10.0
    """For the connection, and again for its TLS handshake."""
    first_byte_timeout_s: float | None = 600.0
    """From sending the request to the answer's status line; a model that loads is slow with it."""
    total_timeout_s: float | None = 3600.0
    max_body_bytes: int = 256 * 1024 * 1024
    """Of the decoded body; what comes beyond is not read."""
    proxy: str | None = None
    """`http://[user:password@]host:port`; None takes the one of the environment if `trust_env`."""
    ca_file: str | None = None
    """A PEM file or a folder of hashed ones, trusted instead of the system's authorities."""
    client_cert: str | None = None
    client_key: str | None = None
    """None where the certificate's file holds the key too."""
    insecure: bool = False
    """Certificates are not checked. Front ends say so wherever it is on."""
    trust_env: bool = True
    """HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR count."""


def tls_context(options: ClientOptions) -> ssl.SSLContext:
    """Raises ClientOptionsError for certificates that cannot be read."""
    context = ssl.create_default_context() if options.ca_file is None else _context_of(options.ca_file)
    if options.ca_file is None and not (options.trust_env and _authorities_in_environment()):
        context.load_verify_locations(certifi.where())
    if options.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if options.client_key is not None and options.client_cert is None:
        raise ClientOptionsError("A client key needs its certificate: give --client-cert too.")
    if options.client_cert is not None:
        _load_client_certificate(context, options.client_cert, options.client_key)
    return context


def _authorities_in_environment() -> bool:
    return bool(os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR"))


def _context_of(ca_file: str) -> ssl.SSLContext:
    try:
        if os.path.isdir(ca_file):
            return ssl.create_default_context(capath=ca_file)
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ClientOptionsError(f"The CA file {ca_file} cannot be used: {_told(error)}.") from error


def _load_client_certificate(context: ssl.SSLContext, certificate: str, key: str | None) -> None:
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ssl.SSLError, ValueError) as error:
        files = certificate if key is None else f"{certificate} with the key {key}"
        raise ClientOptionsError(
            f"The client certificate {files} cannot be used: {_told(error)}. "
            "The key must not be encrypted with a password."
        ) from error


def _no_password() -> str:
    """Without this OpenSSL would ask on the terminal and stop the program."""
    return ""


def _told(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and not isinstance(error, ssl.SSLError):
        return error.strerror
    return str(error).rstrip(".") or "it holds no certificate"


def proxy_for(options: ClientOptions, *, scheme: str, host: str, port: int) -> str | None:
    """The proxy's URL for a server; None for a direct connection."""
    if options.proxy:
        return _with_scheme(options.proxy)
    if not options.trust_env:
        return None
    proxies = getproxies_environment()
    found = proxies.get(scheme) or proxies.get("all")
    if not found or proxy_bypass(f"{host}:{port}", proxies):
        return None
    return _with_scheme(found)


def _with_scheme(proxy: str) -> str:
    return proxy if "://" in proxy else f"http://{proxy}"


def proxy_place(proxy: str) -> str:
    """Host and port of a proxy, without its user and password."""
    try:
        parts = urlsplit(proxy)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return "(unreadable address)"
    return f"{parts.hostname}:{port}"


def transport(context: ssl.SSLContext, proxy: str | None) -> httpx.AsyncHTTPTransport:
    """A connection for each exchange: times are comparable, and none fails for an old connection's sake.

    Raises ClientOptionsError for a proxy that cannot be used.
    """
    limits = httpx.Limits(max_keepalive_connections=0)
    try:
        chosen = None if proxy is None else httpx.Proxy(proxy, ssl_context=_proxy_tls(proxy, context))
        return httpx.AsyncHTTPTransport(verify=context, limits=limits, proxy=chosen)
    except ImportError:
        raise ClientOptionsError(
            f"The proxy {proxy_place(proxy or '')} is a SOCKS proxy: install the package socksio."
        ) from None
    except (ValueError, httpx.InvalidURL) as error:
        raise ClientOptionsError(
            f"The proxy {proxy_place(proxy or '')} cannot be used; give http://host:port."
        ) from error


def _proxy_tls(proxy: str, context: ssl.SSLContext) -> ssl.SSLContext | None:
    return context if proxy.lower().startswith("https:") else None
