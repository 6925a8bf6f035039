from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import trustme
from raw_server import RawServer

from llmdebug.http.client import Client, ClientOptions, ClientOptionsError
from llmdebug.http.exchange import Exchange, Request

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Authority:
    """A certificate authority, its server's context, and a client's files."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self.ca_file = str(folder / "ca.pem")
        authority.cert_pem.write_to_path(self.ca_file)
        self.server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("127.0.0.1", "localhost").configure_cert(self.server)
        authority.configure_trust(self.server)
        client = authority.issue_cert("client@example.org")
        self.client_cert, self.client_key = str(folder / "client.pem"), str(folder / "client.key")
        client.cert_chain_pems[0].write_to_path(self.client_cert)
        client.private_key_pem.write_to_path(self.client_key)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    yield Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    async with RawServer() as raw:
        yield raw


async def get(url: str, options: ClientOptions) -> Exchange:
    async with Client(options) as client:
        return await client.send(Request(method="GET", url=url))


async def test_a_named_authority_is_trusted(server: RawServer, authority: Authority) -> None:
    place = await server.start(OK, authority.server)
    exchange = await get(f"https://{place}/", ClientOptions(trust_env=False, ca_file=authority.ca_file))
    assert exchange.response is not None and exchange.response.status == 200
    assert exchange.timing is not None and exchange.timing.connect is not None


@pytest.mark.parametrize("named", [True, False])
async def test_another_authority_is_not(server: RawServer, authority: Authority, tmp_path: Path, named: bool) -> None:
    place = await server.start(OK, authority.server)
    other = str(tmp_path / "other.pem")
    trustme.CA().cert_pem.write_to_path(other)
    exchange = await get(f"https://{place}/", ClientOptions(trust_env=False, ca_file=other if named else None))
    assert exchange.failure is not None and exchange.failure.kind == "tls"
    assert "--ca-file" in exchange.failure.message and "--insecure" in exchange.failure.message
    assert server.requests == []


async def test_a_certificate_for_another_name(server: RawServer, authority: Authority) -> None:
    place = await server.start(OK, authority.server, host="127.0.0.2")
    exchange = await get(f"https://{place}/", ClientOptions(trust_env=False, ca_file=authority.ca_file))
    assert exchange.failure is not None and exchange.failure.kind == "tls"
    assert "127.0.0.2" in exchange.failure.message


async def test_insecure_checks_nothing(server: RawServer, authority: Authority) -> None:
    place = await server.start(OK, authority.server)
    exchange = await get(f"https://{place}/", ClientOptions(trust_env=False, insecure=True))
    assert exchange.response is not None and exchange.response.status == 200


async def test_the_alert_of_a_missing_client_certificate(tmp_path: Path) -> None:
    demanding = Authority(tmp_path)
    demanding.server.verify_mode = ssl.CERT_REQUIRED
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def refuse() -> None:
            raw, _ = listening.accept()
            with raw, suppress(OSError):
                demanding.server.wrap_socket(raw, server_side=True)
            raw.close()

        refusing = asyncio.create_task(asyncio.to_thread(refuse))
        place = f"127.0.0.1:{listening.getsockname()[1]}"
        exchange = await get(f"https://{place}/", ClientOptions(trust_env=False, ca_file=demanding.ca_file))
        await refusing
    assert exchange.failure is not None
    assert "--client-cert" in exchange.failure.message


async def test_a_client_certificate(server: RawServer, authority: Authority, tmp_path: Path) -> None:
    demanding = Authority(tmp_path)
    demanding.server.verify_mode = ssl.CERT_REQUIRED
    place = await server.start(OK, demanding.server)
    without = await get(f"https://{place}/", ClientOptions(trust_env=False, ca_file=demanding.ca_file))
    assert without.failure is not None and without.failure.kind in ("tls", "reset")
    assert "--client-cert" in without.failure.message
    with_it = ClientOptions(
        trust_env=False,
        ca_file=demanding.ca_file,
        client_cert=demanding.client_cert,
        client_key=demanding.client_key,
    )
    assert (await get(f"https://{place}/", with_it)).response is not None


async def test_https_to_a_plain_server(server: RawServer) -> None:
    place = await server.start(b"HTTP/1.1 400 Bad Request\r\n\r\n", wait_for_request=False)
    exchange = await get(f"https://{place}/", ClientOptions(trust_env=False))
    assert exchange.failure is not None and exchange.failure.kind == "tls"
    assert "http://" in exchange.failure.message


async def test_plain_http_to_a_tls_server(server: RawServer, authority: Authority) -> None:
    place = await server.start(OK, authority.server)
    exchange = await get(f"http://{place}/", ClientOptions(trust_env=False))
    assert exchange.failure is not None and exchange.failure.kind in ("not_http", "reset")
    assert exchange.response is None


@pytest.mark.parametrize(
    ("ca_file", "client_cert", "client_key"),
    [
        ("/nowhere/ca.pem", None, None),
        ("EMPTY", None, None),
        (None, "/nowhere/cert.pem", None),
        (None, "EMPTY", None),
        (None, None, "EMPTY"),
    ],
)
async def test_certificates_that_cannot_be_read(
    tmp_path: Path, ca_file: str | None, client_cert: str | None, client_key: str | None
) -> None:
    empty = tmp_path / "EMPTY"
    empty.write_bytes(b"")

    def named(name: str | None) -> str | None:
        return str(empty) if name == "EMPTY" else name

    options = ClientOptions(ca_file=named(ca_file), client_cert=named(client_cert), client_key=named(client_key))
    with pytest.raises(ClientOptionsError) as told:
        async with Client(options):
            pass
    assert "certificate" in str(told.value) or "CA file" in str(told.value)
