"""Puts the server together."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI

from . import native_routes, openai_routes
from .engine import Engine
from .exception_handlers import register_exception_handlers
from .middleware import add_middleware
from .ngram_model import NgramModel
from .serving_chat import ChatServing
from .serving_completions import CompletionServing
from .serving_generate import GenerateServing
from .settings import Settings
from .tokenizer import Tokenizer
from .tool_parsers import TOOL_CALL_PARSERS


def create_app(model_folder: Path, settings: Settings | None = None) -> FastAPI:
    """`model_folder` holds `tokenizer.json` and `ngrams.bin`."""
    settings = settings or Settings()
    if settings.tool_call_parser is not None and settings.tool_call_parser not in TOOL_CALL_PARSERS:
        raise KeyError(f"invalid tool call parser: {settings.tool_call_parser}")
    tokenizer = Tokenizer(model_folder / "tokenizer.json")
    model = NgramModel(model_folder / "ngrams.bin", tokenizer.vocab_size)
    engine = Engine(model, tokenizer, settings.token_interval)

    app = FastAPI(title="nanoserve", version=native_routes.VERSION)
    app.state.settings = settings
    app.state.model_path = model_folder.resolve()
    app.state.tokenizer = tokenizer
    app.state.completions = CompletionServing(engine, settings)
    app.state.chat = ChatServing(engine, settings)
    app.state.generate = GenerateServing(engine, settings)

    app.include_router(openai_routes.router)
    app.include_router(native_routes.router)
    if settings.enable_tokenizer_info_endpoint:
        app.include_router(native_routes.tokenizer_info_router)
    add_middleware(app, settings)
    register_exception_handlers(app)
    return app
