"""A chat template rendered by transformers, in its sandbox; and where it failed. In the worker's process only."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import FrameType
from typing import Any

from llmdebug.tokens.chat import flattened
from llmdebug.tokens.values import Chat, TemplateFault, TokenizerError

MAX_MESSAGE = 2_000
MAX_SOURCE = 300
TEMPLATE_FILES = ("<template>", "<unknown>")
"""What jinja2 calls a template that is no file."""


def render(loaded: Any, chat: Chat, template: str | None = None) -> str | TemplateFault:
    """The text that the template makes of a conversation; `template` stands in for the tokenizer's own.

    Raises TokenizerError where there is no template.
    """
    source = template or _template_of(loaded, chat)
    given = dict(chat.variables)
    for taken in ("messages", "tools", "documents", "conversation", "chat_template", "tokenize", "return_dict"):
        given.pop(taken, None)
    given.setdefault("add_generation_prompt", chat.add_generation_prompt)
    given.setdefault("continue_final_message", chat.continue_final_message)
    messages = chat.messages if reads_parts(source) else [flattened(message) for message in chat.messages]
    try:
        text = loaded.apply_chat_template(
            messages,
            tools=chat.tools,
            documents=chat.documents,
            chat_template=source,
            tokenize=False,
            **given,
        )
    except MemoryError:
        return TemplateFault(message="the template takes too much memory")
    except Exception as error:
        return fault_of(error, source, len(chat.messages))
    return str(text)


def _template_of(loaded: Any, chat: Chat) -> str:
    """The template that transformers takes where several are named: one for tools is another."""
    if not getattr(loaded, "chat_template", None):
        raise TokenizerError("This tokenizer has no chat template, so messages cannot be put together with it.")
    try:
        return str(loaded.get_chat_template(None, chat.tools))
    except Exception as error:
        raise TokenizerError(f"The tokenizer's chat template cannot be read: {' '.join(str(error).split())}") from error


def reads_parts(source: str) -> bool:
    """Whether a template goes through the parts of a message's content itself, rather than take it as a text.

    False where the template cannot be read: that is told when it is rendered.
    """
    nodes = import_module("jinja2.nodes")
    try:
        tree = import_module("jinja2").Environment(extensions=["jinja2.ext.loopcontrols"]).parse(source)
    except Exception:
        return False
    return any(
        name == "content"
        for loop in tree.find_all(nodes.For)
        for name in (
            *(node.attr for node in loop.iter.find_all(nodes.Getattr)),
            *(getattr(node.arg, "value", None) for node in loop.iter.find_all(nodes.Getitem)),
            getattr(loop.iter, "attr", None),
            getattr(getattr(loop.iter, "arg", None), "value", None),
            getattr(loop.iter, "name", None),
        )
    )


def fault_of(error: Exception, source: str, count: int) -> TemplateFault:
    """The template's line and message where an error came up."""
    text = " ".join(str(error).split())[:MAX_MESSAGE] or type(error).__name__
    frames = list(_template_frames(error))
    unreadable = getattr(error, "lineno", None)
    if isinstance(unreadable, int):
        return TemplateFault(message=text, line=unreadable, source=_line_of(source, unreadable))
    if not frames:
        return TemplateFault(message=text)
    line = frames[-1][1]
    return TemplateFault(message=text, line=line, source=_line_of(source, line), index=_guilty(frames, count, source))


def _line_of(source: str, line: int) -> str:
    lines = source.splitlines()
    return lines[line - 1].strip()[:MAX_SOURCE] if 0 < line <= len(lines) else ""


def _template_frames(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in TEMPLATE_FILES:
            yield trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next


def _guilty(frames: list[tuple[FrameType, int]], count: int, source: str) -> int | None:
    """The index of the message that the innermost frame works on: one of its variables is that very object."""
    conversation = next((found for frame, _ in frames for found in _lists(frame, count)), None)
    for frame, _ in reversed(frames):
        held = [id(value) for value in frame.f_locals.values() if isinstance(value, dict)]
        for index, message in enumerate(conversation or ()):
            if id(message) in held:
                return index
    return _named(source, frames[-1][1], count)


def _named(source: str, line: int, count: int) -> int | None:
    """The first or last message where the lines about the error name it so."""
    near = "".join(source.splitlines()[max(0, line - 3) : line])
    if count == 1 or "messages[0]" in near or "messages|first" in near.replace(" ", ""):
        return 0
    return count - 1 if "messages[-1]" in near or "messages|last" in near.replace(" ", "") else None


def _lists(frame: FrameType, count: int) -> Iterator[list[Any]]:
    for name, value in frame.f_locals.items():
        if name == "messages" and isinstance(value, list) and len(value) == count:
            yield value
