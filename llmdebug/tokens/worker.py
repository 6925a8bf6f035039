"""The tokenizer's process: `python -m llmdebug.tokens.worker`, orders on stdin, answers on stdout.

It ends with its stdin. What libraries print goes nowhere, so that stdout holds answers only.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
import time

from llmdebug.tokens.template import render
from llmdebug.tokens.tokenizer import Tokenizer, load
from llmdebug.tokens.values import TemplateFault, TokenizerError
from llmdebug.tokens.wire import (
    Answer,
    Decode,
    Encode,
    Failed,
    Faulty,
    Load,
    Loaded,
    Order,
    Read,
    Render,
    Stage,
    packed,
    receive_order,
)

MAX_MEMORY = 8 * 2**30
"""Bytes of address space: a template that builds endless text ends itself, not the machine."""


PARENT_S = 1.0
"""How often it is looked whether llmdebug still lives."""


def main() -> None:
    """Serves until stdin ends."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = MAX_MEMORY if hard == resource.RLIM_INFINITY else min(MAX_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))

    def say(answer: Answer) -> None:
        answers.write(packed(answer))
        answers.flush()

    tokenizer: Tokenizer | None = None
    while (order := receive_order(sys.stdin.buffer)) is not None:
        try:
            if isinstance(order, Load):
                tokenizer = load(order.name, hub=order.hub, progress=lambda what: say(Stage(what)))
                say(Loaded(tokenizer.vocabulary))
            elif tokenizer is None:
                say(Failed("No tokenizer is loaded."))
            else:
                say(_carried_out(tokenizer, order))
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


def _carried_out(tokenizer: Tokenizer, order: Order) -> Answer:
    match order:
        case Encode(text, special):
            return Read(tokenizer.encode(text, special=special))
        case Decode(ids):
            return Read(tokenizer.decode(ids))
        case Render():
            return _rendered(tokenizer, order)
    raise TokenizerError("The tokenizer knows no such order.")


def _rendered(tokenizer: Tokenizer, order: Render) -> Answer:
    text = render(tokenizer.loaded, order.chat, order.template)
    if isinstance(text, TemplateFault):
        return Faulty(text)
    return Read(tokenizer.encode(text, special=False))


if __name__ == "__main__":
    main()
