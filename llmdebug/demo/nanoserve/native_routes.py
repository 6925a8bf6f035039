"""The server's own routes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict
from http import HTTPStatus
from typing import Any, Literal

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from .errors import TokenIdError
from .middleware import validate_json_request
from .protocol import DetokenizeRequest, GenerateRequest, TokenizeRequest
from .sse import event_stream

VERSION = "0.1.0"

router = APIRouter()
tokenizer_info_router = APIRouter()


@router.get("/health")
async def health() -> Response:
    return Response(status_code=HTTPStatus.OK)


@router.get("/version")
async def version() -> dict[str, str]:
    return {"version": VERSION}


@router.get("/server_info")
async def server_info(raw_request: Request, config_format: Literal["json", "text"] = "json") -> Response:
    state = raw_request.app.state
    config = {**asdict(state.settings), "model_path": str(state.model_path), "version": VERSION}
    del config["api_key"]
    if config_format == "text":
        return PlainTextResponse("\n".join(f"{name}={value}" for name, value in config.items()))
    return JSONResponse(config)


@router.post("/generate", dependencies=[Depends(validate_json_request)])
async def generate(request: GenerateRequest, raw_request: Request) -> Response:
    result = await raw_request.app.state.generate.generate(request)
    if isinstance(result, AsyncIterator):
        return event_stream(result)
    return JSONResponse(result)


@router.post("/tokenize", dependencies=[Depends(validate_json_request)])
async def tokenize(request: TokenizeRequest, raw_request: Request) -> dict[str, Any]:
    tokens = raw_request.app.state.tokenizer.encode(request.prompt)
    max_model_len = raw_request.app.state.settings.max_model_len
    return {"tokens": tokens, "count": len(tokens), "max_model_len": max_model_len}


@router.post("/detokenize", dependencies=[Depends(validate_json_request)])
async def detokenize(request: DetokenizeRequest, raw_request: Request) -> dict[str, str]:
    try:
        prompt = raw_request.app.state.tokenizer.decode(request.tokens, skip_special_tokens=False)
    except TokenIdError as exc:
        raise HTTPException(HTTPStatus.BAD_REQUEST, f"cannot decode: {exc}") from exc
    return {"prompt": prompt}


@tokenizer_info_router.get("/tokenizer_info")
async def tokenizer_info(raw_request: Request) -> dict[str, Any]:
    tokenizer = raw_request.app.state.tokenizer
    return {"vocab_size": tokenizer.vocab_size, "eos_token_id": tokenizer.eos_token_id}
