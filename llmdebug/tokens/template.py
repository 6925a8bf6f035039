"""A chat template rendered by transformers, in its sandbox; and where it failed. In the worker's process only."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from types import FrameType
from typing import Any

import msgspec

from llmdebug.tokens import bounds
from llmdebug.tokens.chat import flattened
from llmdebug.tokens.place import CONFIG_NAME, Place
from llmdebug.tokens.values import Chat, TemplateFault, TokenizerError

MAX_MESSAGE = 2_000
MAX_SOURCE = 300
SWITCHES = ("add_generation_prompt", "continue_final_message")
"""What a request's own variables may set of what transformers takes beside them."""
TEMPLATE_FILE = "chat_template.jinja"
TEMPLATE_FOLDER = "additional_chat_templates"
"""What transformers calls them in a tokenizer's folder."""
TEMPLATE_FILES = ("<template>", "<unknown>")
"""What jinja2 calls a template that is no file."""


def render(loaded: Any, chat: Chat, source: str, *, seconds: float) -> str | TemplateFault:
    """The text that a template makes of a conversation; one that does not end is stopped."""
    taken = {"self", "messages", *inspect.signature(loaded.apply_chat_template).parameters} - set(SWITCHES)
    given = {name: value for name, value in chat.variables.items() if name not in taken}
    given.setdefault("add_generation_prompt", chat.add_generation_prompt)
    given.setdefault("continue_final_message", chat.continue_final_message)
    try:
        with bounds.memory(bounds.TO_RENDER), bounds.time(seconds):
            messages = chat.messages if reads_parts(source) else [flattened(message) for message in chat.messages]
            text = loaded.apply_chat_template(
                messages,
                tools=chat.tools,
                documents=chat.documents,
                chat_template=source,
                tokenize=False,
                **given,
            )
    except Exception as error:
        return fault_of(error, source, len(chat.messages), seconds)
    return str(text)


def template_of(loaded: Any, chat: Chat) -> str:
    """The template that transformers takes where several are named: one for tools is another.

    Raises TokenizerError where there is none.
    """
    if not getattr(loaded, "chat_template", None):
        raise TokenizerError("This tokenizer has no chat template, so messages cannot be put together with it.")
    try:
        found = loaded.get_chat_template(None, chat.tools)
    except Exception as error:
        raise TokenizerError(f"The tokenizer's chat template cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(found, str):
        raise TokenizerError("The tokenizer's chat template is no text, so nothing can be put together with it.")
    return found


def place_of(source: str, loaded: Any, place: Place) -> str:
    """Where one of the tokenizer's templates stands, for people."""
    known = loaded.chat_template
    names = [str(name) for name, text in known.items() if text == source] if isinstance(known, dict) else ["default"]
    name = names[0] if names else "default"
    if place.path is None:
        return f"that of {place.hub_id}" + (f' for "{name}"' if name != "default" else "")
    file = place.path / (TEMPLATE_FILE if name == "default" else f"{TEMPLATE_FOLDER}/{name}.jinja")
    if file.is_file():
        return str(file)
    key = "chat_template" if not isinstance(known, dict) else f'chat_template "{name}"'
    return f"{key} in {place.path / CONFIG_NAME}"


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


def fault_of(error: Exception, source: str, count: int, seconds: float) -> TemplateFault:
    """The template's line and message where an error came up."""
    frames = list(_template_frames(error))
    runaway = _runaway(error, seconds, is_running=bool(frames))
    text = runaway or " ".join(str(error).split())[:MAX_MESSAGE] or type(error).__name__
    fault = TemplateFault(message=text, stopped=bool(runaway))
    unreadable = getattr(error, "lineno", None)
    if isinstance(unreadable, int):
        return msgspec.structs.replace(fault, unreadable=True, line=unreadable, source=_line_of(source, unreadable))
    line = frames[-1][1] if frames else None
    if line is None:
        return fault
    index = None if runaway else _guilty(frames, count, source)
    return msgspec.structs.replace(fault, line=line, source=_line_of(source, line), index=index)


def _runaway(error: Exception, seconds: float, *, is_running: bool) -> str:
    """What a template does that would go on and on; empty where it is another error."""
    if isinstance(error, bounds.OutOfTime):
        return f"does not end: it was stopped after {seconds:g} s"
    if isinstance(error, MemoryError):
        return f"wants more than {bounds.TO_RENDER // 2**20:,} MiB of memory: it was stopped"
    if isinstance(error, RecursionError):
        return "calls itself without end: it was stopped" if is_running else "is nested too deep to be read"
    return ""


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
