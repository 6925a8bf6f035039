"""The tokenizer's process: `python -m llmdebug.tokens.worker`, orders on stdin, answers on stdout.

It ends with its stdin. What libraries print goes nowhere, so that stdout holds answers only.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable

import msgspec

from llmdebug.tokens import bounds
from llmdebug.tokens.template import place_of, render, template_of
from llmdebug.tokens.tokenizer import Tokenizer, load
from llmdebug.tokens.values import MAX_TEXT, Chat, TemplateFault, TokenizerError
from llmdebug.tokens.wire import (
    ANSWER_S,
    Answer,
    Decode,
    Encode,
    Failed,
    Faulty,
    Load,
    Loaded,
    Order,
    Render,
    Stage,
    packed,
    receive_order,
    told,
)

Say = Callable[[Answer], None]

PARENT_S = 1.0
"""How often it is looked whether llmdebug still lives."""


def main() -> None:
    """Serves until stdin ends."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())

    def say(answer: Answer) -> None:
        answers.write(packed(answer))
        answers.flush()

    tokenizer: Tokenizer | None = None
    while (order := receive_order(sys.stdin.buffer)) is not None:
        try:
            if isinstance(order, Load):
                with bounds.memory(bounds.TO_LOAD):
                    tokenizer = load(order.name, hub=order.hub, progress=lambda what: say(Stage(what)))
                say(Loaded(tokenizer.vocabulary))
            elif tokenizer is None:
                say(Failed("No tokenizer is loaded."))
            else:
                say(_carried_out(tokenizer, order, say))
        except TokenizerError as error:
            say(Failed(str(error)))
        except MemoryError:
            say(Failed("The tokenizer needs more memory than it is given."))
        except BaseException as error:  # broken files make Rust code panic, which is no Exception
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            say(Failed(f"The tokenizer failed: {' '.join(str(error).split())[:400]} ({type(error).__name__})"))


def _end_with(parent: int) -> None:
    """Ends this process when llmdebug was killed while a template went on and on."""
    while os.getppid() == parent:
        time.sleep(PARENT_S)
    os._exit(1)


def _carried_out(tokenizer: Tokenizer, order: Order, say: Say) -> Answer:
    match order:
        case Encode(text, special):
            say(Stage(f"turning {len(text):,} characters into ids"))
            with bounds.memory(bounds.TO_READ):
                return told(tokenizer.encode(text, special=special))
        case Decode(ids):
            return told(tokenizer.decode(ids))
        case Render():
            return _rendered(tokenizer, order, say)
    raise TokenizerError("The tokenizer knows no such order.")


def _rendered(tokenizer: Tokenizer, order: Render, say: Say) -> Answer:
    chat = msgspec.json.decode(order.chat, type=Chat)
    source = order.template or template_of(tokenizer.loaded, chat)
    place = "chat_template of the request" if order.template else place_of(source, tokenizer.loaded, tokenizer.place)
    say(Stage(f"rendering the chat template, {place}", 2 * order.seconds))
    text = render(tokenizer.loaded, chat, source, seconds=order.seconds)
    if isinstance(text, TemplateFault):
        return Faulty(msgspec.structs.replace(text, template=place))
    if len(text) > MAX_TEXT:
        raise TokenizerError(
            f"The chat template, {place}, makes {len(text):,} characters; at most {MAX_TEXT:,} are turned into ids."
        )
    say(Stage(f"turning the {len(text):,} characters of the rendered chat into ids", ANSWER_S))
    with bounds.memory(bounds.TO_READ):
        return told(tokenizer.encode(text, special=False))


if __name__ == "__main__":
    main()
