"""The routes of the OpenAI API."""

from __future__ import annotations

from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response

from .errors import ErrorResponse, create_error_response
from .exception_handlers import error_json
from .middleware import validate_json_request
from .protocol import ChatCompletionRequest, CompletionRequest, ModelCard
from .sse import event_stream

router = APIRouter(prefix="/v1")


@router.get("/models")
async def list_models(raw_request: Request) -> dict[str, Any]:
    return {"object": "list", "data": [_model_card(raw_request).model_dump()]}


@router.get("/models/{model_id}")
async def retrieve_model(model_id: str, raw_request: Request) -> Response:
    card = _model_card(raw_request)
    if model_id != card.id:
        return error_json(
            create_error_response(
                f"No model is called {model_id!r} here",
                err_type="NotFoundError",
                status_code=HTTPStatus.NOT_FOUND,
                param="model_id",
            )
        )
    return JSONResponse(card.model_dump())


@router.post("/completions", dependencies=[Depends(validate_json_request)])
async def create_completion(request: CompletionRequest, raw_request: Request) -> Response:
    result = await raw_request.app.state.completions.create_completion(request)
    return _respond(result)


@router.post("/chat/completions", dependencies=[Depends(validate_json_request)])
async def create_chat_completion(request: ChatCompletionRequest, raw_request: Request) -> Response:
    result = await raw_request.app.state.chat.create_chat_completion(request)
    return _respond(result)


def _respond(result: dict[str, Any] | AsyncIterator[dict[str, Any]] | ErrorResponse) -> Response:
    if isinstance(result, ErrorResponse):
        return error_json(result)
    if isinstance(result, dict):
        return JSONResponse(result)
    return event_stream(result)


def _model_card(raw_request: Request) -> ModelCard:
    settings = raw_request.app.state.settings
    return ModelCard(id=settings.served_model_name, max_model_len=settings.max_model_len)
