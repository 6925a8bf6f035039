"""Turns exceptions into answers."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from .errors import ErrorResponse, RequestError, create_error_response


def error_json(response: ErrorResponse) -> JSONResponse:
    return JSONResponse(response.model_dump(), status_code=response.error.code)


async def http_exception_handler(request: Request, exc: HTTPException) -> JSONResponse:
    if not request.url.path.startswith("/v1"):
        return JSONResponse({"detail": exc.detail}, status_code=exc.status_code, headers=exc.headers)
    status = HTTPStatus(exc.status_code)
    response = create_error_response(exc.detail, err_type=status.phrase, status_code=status)
    return JSONResponse(response.model_dump(), status_code=exc.status_code, headers=exc.headers)


async def validation_exception_handler(request: Request, exc: RequestValidationError) -> JSONResponse:
    errors = exc.errors()
    if not request.url.path.startswith("/v1"):
        detail = [{"type": error["type"], "loc": error["loc"], "msg": error["msg"]} for error in errors]
        return JSONResponse({"detail": detail}, status_code=HTTPStatus.UNPROCESSABLE_ENTITY)
    lines = [f"{len(errors)} validation error{'s' if len(errors) > 1 else ''}:"]
    for error in errors:
        shown = {key: error[key] for key in ("type", "loc", "msg", "input") if key in error}
        lines.append(f"  {shown}")
    param = next((step for step in errors[0]["loc"][1:] if isinstance(step, str)), None)
    return error_json(create_error_response("\n".join(lines), err_type="Bad Request", param=param))


async def request_error_handler(request: Request, exc: RequestError) -> JSONResponse:
    err_type = type(exc).__name__
    return error_json(create_error_response(str(exc), err_type, status_code=exc.status, param=exc.param))


async def value_error_handler(request: Request, exc: ValueError) -> JSONResponse:
    return error_json(create_error_response(str(exc)))


async def not_implemented_handler(request: Request, exc: NotImplementedError) -> JSONResponse:
    return error_json(create_error_response(str(exc), "NotImplementedError", status_code=HTTPStatus.NOT_IMPLEMENTED))


def register_exception_handlers(app: FastAPI) -> None:
    app.exception_handler(HTTPException)(http_exception_handler)
    app.exception_handler(RequestValidationError)(validation_exception_handler)
    app.exception_handler(RequestError)(request_error_handler)
    app.exception_handler(ValueError)(value_error_handler)
    app.exception_handler(NotImplementedError)(not_implemented_handler)
