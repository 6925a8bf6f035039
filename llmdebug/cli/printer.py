"""What a session does, told as it happens: data on stdout, talk on stderr."""

from __future__ import annotations

import sys

import msgspec

from llmdebug.cli.answer import MAX_SHOWN, print_body, print_event, request_text, status_line
from llmdebug.cli.talk import say, tell
from llmdebug.debugger.session import SentExchange, Session
from llmdebug.http.exchange import Exchange, StreamEvent, header
from llmdebug.http.secrets import hide


class Printer:
    """With `as_json` the answers are left to whoever prints the JSON."""

    def __init__(self, session: Session, *, as_json: bool, show_secrets: bool) -> None:
        self._session = session
        self._as_json = as_json
        self._show_secrets = show_secrets

    def shown(self, exchange: Exchange) -> Exchange:
        """The exchange as it may be printed."""
        return exchange if self._show_secrets else self._session.redacted(exchange)

    def event(self, event: StreamEvent) -> None:
        if not self._as_json:
            data = event.data if self._show_secrets else hide(event.data, self._session.secrets)
            print_event(msgspec.structs.replace(event, data=data), sys.stdout)

    def answer(self, sent: SentExchange) -> None:
        """All of it but the events; after a failure the request too, so that it is not lost."""
        exchange = self.shown(sent.exchange)
        request, response, failure = exchange.request, exchange.response, exchange.failure
        if response is None:
            tell(request_text(request, MAX_SHOWN))
        else:
            tell(f"{request.method} {request.url}\n{status_line(exchange)}")
            if 300 <= response.status < 400:
                tell(f"(redirects to {header(response.headers, 'Location') or 'nowhere'}: not followed)")
            if not self._as_json and not response.events:
                print_body(response, sys.stdout)
        if failure is not None:
            say(failure.message)

    def warnings(self) -> None:
        for warning in self._session.warnings:
            say(warning)
