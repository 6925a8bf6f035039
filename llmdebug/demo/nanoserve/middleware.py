"""What each request passes before any route."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from fastapi import FastAPI, HTTPException, Request, Response

from .errors import create_error_response
from .exception_handlers import error_json
from .settings import Settings

Next = Callable[[Request], Awaitable[Response]]


def add_middleware(app: FastAPI, settings: Settings) -> None:
    @app.middleware("http")
    async def limit_body(request: Request, call_next: Next) -> Response:
        size = int(request.headers.get("content-length", 0))
        if size > settings.max_body_bytes:
            return error_json(
                create_error_response(
                    f"The request body has {size} bytes, the limit is {settings.max_body_bytes}",
                    err_type="PayloadTooLarge",
                    status_code=HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                )
            )
        return await call_next(request)

    if settings.api_key is None:
        return
    expected = f"Bearer {settings.api_key}".encode()

    @app.middleware("http")
    async def authenticate(request: Request, call_next: Next) -> Response:
        if request.method == "OPTIONS" or not request.url.path.startswith("/v1"):
            return await call_next(request)
        given = request.headers.get("authorization", "").encode()
        if not secrets.compare_digest(given, expected):
            return error_json(
                create_error_response(
                    "Unauthorized", err_type="AuthenticationError", status_code=HTTPStatus.UNAUTHORIZED
                )
            )
        return await call_next(request)


async def validate_json_request(raw_request: Request) -> None:
    content_type = raw_request.headers.get("content-type", "").lower()
    if content_type.split(";", maxsplit=1)[0] != "application/json":
        raise HTTPException(
            status_code=HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            detail="Unsupported Media Type: Only 'application/json' is allowed",
        )
