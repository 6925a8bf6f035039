"""The chat template: a conversation as the one text that the model continues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from .errors import ChatTemplateError

TEMPLATES = Path(__file__).parent / "templates"


def raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def tojson(value: Any) -> str:
    """As models are trained with it: nothing escaped for HTML, keys in their order."""
    return json.dumps(value, ensure_ascii=False)


class ChatTemplate:
    def __init__(self, name: str = "chatml.jinja") -> None:
        environment = ImmutableSandboxedEnvironment(
            loader=jinja2.FileSystemLoader(TEMPLATES), trim_blocks=True, lstrip_blocks=True
        )
        environment.filters["tojson"] = tojson
        environment.globals["raise_exception"] = raise_exception
        self._template = environment.get_template(name)

    def render(self, messages: list[dict[str, Any]], **variables: Any) -> str:
        try:
            return self._template.render(messages=messages, **variables)
        except jinja2.TemplateError as exc:
            raise ChatTemplateError(f"Failed to apply the chat template: {exc}", param="messages") from exc
