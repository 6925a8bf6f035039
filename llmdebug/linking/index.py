"""Talking to package indexes: which archive holds a version, and its bytes. Slow to import; only fetching does."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import httpx2
from packaging.version import InvalidVersion, Version
from unearth import Link, Package, PackageFinder
from unearth.auth import MultiDomainBasicAuth
from unearth.collector import is_secure_origin
from unearth.fetchers import PyPIClient

from llmdebug.http.options import ClientOptions, ClientOptionsError, tls_context
from llmdebug.linking.pipconfig import IndexSettings
from llmdebug.linking.spec import SourceError, without_credentials

MAX_PAGE = 50_000_000
"""Bytes of an index page."""
MAX_REDIRECTS = 5
NEAREST = 5
_EXACT_BYTES = {"Accept-Encoding": "identity"}

logging.getLogger("unearth").addHandler(logging.NullHandler())


class IndexClient(PyPIClient):
    """Reads index pages within bounds, and remembers what went wrong instead of stopping at the first index."""

    def __init__(self, settings: IndexSettings) -> None:
        """Raises SourceError for certificates or a proxy that cannot be used."""
        options = ClientOptions(ca_file=settings.ca_file, client_cert=settings.client_cert)
        try:
            super().__init__(
                trusted_hosts=settings.trusted_hosts,
                verify=tls_context(options),
                timeout=settings.timeout_s,
                proxy=settings.proxy,
                max_redirects=MAX_REDIRECTS,
                follow_redirects=True,
            )
        except (ClientOptionsError, ssl.SSLError, OSError, ValueError) as error:
            raise SourceError(f"pip's configuration cannot be used: {error}") from error
        self.auth = MultiDomainBasicAuth(prompting=False, index_urls=settings.index_urls)
        self.problems: list[str] = []

    def get(self, url: Any, **options: Any) -> httpx2.Response:
        """A page; one that cannot be had is empty, and told in `problems`."""
        shown = without_credentials(str(url))
        try:
            with self.stream("GET", url, **options) as response:
                body = bytearray()
                for piece in response.iter_bytes():
                    body += piece
                    if len(body) > MAX_PAGE:
                        self.problems.append(f"{shown} is larger than {MAX_PAGE // 1_000_000} MB")
                        return httpx2.Response(413, request=response.request)
                if response.status_code not in (200, 404):
                    self.problems.append(f"{shown} answered {response.status_code}")
                kept = {"Content-Type": response.headers.get("Content-Type", "")}
                return httpx2.Response(
                    response.status_code, headers=kept, content=bytes(body), request=response.request
                )
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            self.problems.append(f"{shown}: {told(error)}")
            return httpx2.Response(503, request=httpx2.Request("GET", "http://nowhere"))

    @contextmanager
    def opened(self, url: str, headers: Mapping[str, str] | None = None) -> Iterator[httpx2.Response]:
        """An answer whose body is still to be read, byte for byte. Raises SourceError where none came."""
        try:
            with self.stream("GET", url, headers={**_EXACT_BYTES, **(headers or {})}) as response:
                yield response
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise SourceError(f"{without_credentials(url)}: {told(error)}. Nothing of it was kept.") from error


def told(error: Exception) -> str:
    """What went wrong on the way, for the middle of a sentence."""
    if isinstance(error, httpx2.TimeoutException):
        return "no answer came in time"
    if isinstance(error, httpx2.RemoteProtocolError):
        return f"the download broke off ({error})"
    return str(error) or type(error).__name__


def find_archive(client: IndexClient, settings: IndexSettings, name: str, version: str) -> Link:
    """The archive of exactly this version: a wheel before an sdist. Raises SourceError where there is none."""
    wanted = _version(version)
    if wanted is None:
        raise SourceError(f"{version!r} is no version of a package.")
    found = _packages(client, settings, name)
    of_version = [package for package in found if _version(package.version) == wanted]
    if not of_version and wanted.local:
        public = Version(wanted.public)
        of_version = [package for package in found if _version(package.version) == public]
    if of_version:
        return of_version[0].link
    raise SourceError(_not_found(client, settings, name, wanted, found))


def _packages(client: IndexClient, settings: IndexSettings, name: str) -> list[Package]:
    for url in settings.index_urls:
        if "://" in url and not is_secure_origin(cast(Any, client), Link(url)):
            client.problems.append(f"{without_credentials(url)} is not asked: it is neither https nor a trusted-host")
    finder = PackageFinder(
        cast(Any, client),
        index_urls=settings.index_urls,
        find_links=settings.find_links,
        trusted_hosts=settings.trusted_hosts,
        ignore_compatibility=True,
    )
    if not (settings.index_urls or settings.find_links):
        return []
    try:
        return list(finder.find_all_packages(name, allow_yanked=True))
    except (ValueError, TypeError, AttributeError, KeyError, LookupError, RecursionError) as error:
        raise SourceError(f"The index's page of {name} cannot be read: {error}.") from error


def _not_found(client: IndexClient, settings: IndexSettings, name: str, wanted: Version, found: list[Package]) -> str:
    asked = ", ".join(without_credentials(url) for url in (*settings.index_urls, *settings.find_links))
    trouble = f" ({'; '.join(client.problems[:3])})" if client.problems else ""
    if not asked:
        return f"{name} {wanted} cannot be fetched: pip's configuration names no index."
    if not found:
        return f"{name} is not to be had from {asked}{trouble}."
    versions = sorted({known for package in found if (known := _version(package.version))})
    place = sum(version < wanted for version in versions)
    near = versions[max(place - NEAREST // 2 - 1, 0) :][:NEAREST]
    return f"{name} has no version {wanted} at {asked}{trouble}; near it are {', '.join(map(str, near))}."


def _version(written: str | None) -> Version | None:
    try:
        return Version(written or "")
    except InvalidVersion:
        return None


def hashes_of(link: Link) -> dict[str, str]:
    """Algorithm to digest, as the index gives them."""
    return {algorithm: digests[0] for algorithm, digests in (link.hash_option or {}).items() if digests}


def local_path(link: Link) -> str | None:
    """The path of an archive that lies on this machine."""
    return str(link.file_path) if link.is_file else None
