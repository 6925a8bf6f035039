"""How the app was opened: the server, the source, the file, and how to connect."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from llmdebug.http.exchange import Request
from llmdebug.tui.worksheet import Worksheet

if TYPE_CHECKING:
    from pathlib import Path

    from llmdebug.debugger.session import Session
    from llmdebug.demo.server import DemoServer

STANDARD_ROUTES = ("/v1/chat/completions", "/v1/completions")
HEADERS = (("Content-Type", "application/json"),)
MODEL = b'"model": ""'


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What the command line said."""

    base_url: str | None = None
    sources: tuple[str, ...] = ()
    file: str | None = None
    model: str = ""
    """The model that the steps of a recording ask for; empty: the recorded one."""
    header_lines: tuple[str, ...] = ()
    api_key_env: str | None = None
    client: Mapping[str, Any] = field(default_factory=dict)
    """Fields of ClientOptions that differ from its defaults."""
    record: bool = True
    history_mb: float = 500.0
    """How large the history may grow; 0 for without a bound."""
    demo: DemoServer | None = None
    """The embedded server to start, its port taken already; its requests are opened."""
    probe: bool = True
    """Whether the server may be asked what it is."""
    send_secrets: bool = False
    """Whether keys go to other hosts than those they were written for."""
    keyless: bool = False
    """Whether the recording's keys stay behind: no other is given unasked."""
    tokenizer: str = ""
    """Folder, `tokenizer.json` or Hugging Face id; empty: the one that the server says it serves."""
    families: Path | None = None
    """The folder of the user's own families of servers."""

    def session(self, base_url: str | None, sources: tuple[str, ...]) -> Session:
        """Raises TreeError, CredentialsError. Imports the debugger: call it off the event loop."""
        from llmdebug.debugger.session import Session
        from llmdebug.http.credentials import credentials
        from llmdebug.http.options import ClientOptions

        given = credentials(
            self.header_lines, api_key_env=self.api_key_env, environment=os.environ, unasked=not self.keyless
        )
        return Session(
            base_url=base_url,
            sources=sources,
            credentials=given,
            options=ClientOptions(**self.client),
            keep=self.record,
            history_mb=self.history_mb,
            probing=self.probe,
            families=self.families,
            send_secrets=self.send_secrets,
        )


def demo_opening(**connection: Any) -> Opening:
    """The opening of the embedded server. Raises OSError where no port can be had."""
    from llmdebug.demo.server import DemoServer

    server = DemoServer()
    server.bind()
    return Opening(base_url=server.base_url, sources=(str(server.source),), demo=server, **connection)


def standard_requests(base_url: str) -> list[Request]:
    """Requests to begin with, before the server has told its routes and its model."""
    from llmdebug.http.baseurl import join

    chat = b'{"model": "", "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 64}'
    text = b'{"model": "", "prompt": "Once upon a time", "max_tokens": 64}'
    return [
        Request(method="POST", url=join(base_url, STANDARD_ROUTES[0]), headers=HEADERS, body=chat, name="chat"),
        Request(method="POST", url=join(base_url, STANDARD_ROUTES[1]), headers=HEADERS, body=text, name="completion"),
        Request(method="GET", url=join(base_url, "/v1/models"), name="models"),
    ]


def opened(opening: Opening, *, environment: Mapping[str, str]) -> tuple[Opening, Worksheet, str]:
    """The opening with the server it comes down to, the requests to begin with, and why there can be none."""
    from llmdebug.http.baseurl import is_absolute, split
    from llmdebug.http.credentials import default_base_url

    base = opening.base_url
    if base is None and opening.file is None and not opening.demo:
        base = default_base_url(environment)
    if base is not None and not is_absolute(base):
        base = f"http://{base}"
    opening = replace(opening, base_url=base)
    worksheet, problem = first_worksheet(opening)
    first = _first_request(worksheet)
    if first is not None and not opening.demo:
        opening = replace(opening, base_url=base or split(first.url)[0], keyless=first.keyless)
    return opening, worksheet, problem


def _first_request(worksheet: Worksheet) -> Request | None:
    """The first that can be sent."""
    sheet = worksheet.recording
    if sheet is None:
        return worksheet.entries[0].request if worksheet.entries else None
    from llmdebug.debugger.aim import first_aimed

    return first_aimed(sheet.exchanges, sheet.aim)


def first_worksheet(opening: Opening) -> tuple[Worksheet, str]:
    """The requests to begin with; and why there are none, where a file cannot be read."""
    worksheet = Worksheet()
    if opening.demo or opening.file is not None:
        from llmdebug.formats.errors import FormatError

        try:
            worksheet = _of_file(opening)
        except FormatError as error:
            return worksheet, str(error)
    elif opening.base_url is not None:
        worksheet.add(*standard_requests(opening.base_url))
    if opening.demo:
        names = [entry.request.name for entry in worksheet.entries]
        worksheet.current = names.index("prompt-token-ids") if "prompt-token-ids" in names else 0
    return worksheet, ""


def _of_file(opening: Opening) -> Worksheet:
    """The demo's requests, or the steps of a recording. Raises FormatError."""
    if opening.demo:
        from llmdebug.demo.server import REQUESTS
        from llmdebug.formats.http_file import read_http_file

        worksheet = Worksheet()
        worksheet.add(*read_http_file(REQUESTS, variables={"base_url": opening.base_url or ""}).requests())
        return worksheet
    from llmdebug.debugger.aim import Aim
    from llmdebug.formats.errors import FormatError
    from llmdebug.formats.loading import open_exchanges
    from llmdebug.http.credentials import default_base_url
    from llmdebug.tui.stepsheet import StepSheet

    if opening.file == "-":
        raise FormatError("-", "The screen reads its keys from standard input: give it a file, or <(…).")
    exchanges = open_exchanges(
        opening.file or "",
        base_url=opening.base_url,
        default_base_url=default_base_url(os.environ),
        send_secrets=opening.send_secrets,
    )
    aim = Aim(base_url=opening.base_url or "", model=opening.model, send_secrets=opening.send_secrets)
    return StepSheet(exchanges, aim)
