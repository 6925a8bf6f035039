"""The border of every command: whatever happens inside, the user gets one sentence and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import NoReturn, ParamSpec

from llmdebug.cli.exit_codes import ExitCode
from llmdebug.cli.talk import say

Options = ParamSpec("Options")

DEBUG_VARIABLE = "LLMDEBUG_DEBUG"


class CommandError(Exception):
    """Ends a command; the text is a sentence for the user."""

    def __init__(self, message: str, code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__(message)
        self.code = code


def guarded(work: Callable[[], int]) -> int:
    """The exit code of `work`; errors are told on stderr."""
    try:
        code = work()
        sys.stdout.flush()
    except KeyboardInterrupt:
        say("interrupted")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return ExitCode.BROKEN_PIPE
    except Exception as error:
        return _told(error)
    return code


def exiting(command: Callable[Options, int]) -> Callable[Options, NoReturn]:
    """The command as Typer runs it: ends the process with its exit code."""

    @wraps(command)
    def run(*args: Options.args, **options: Options.kwargs) -> NoReturn:
        sys.exit(guarded(lambda: command(*args, **options)))

    return run


def _told(error: Exception) -> int:
    if os.environ.get(DEBUG_VARIABLE):
        raise error
    if isinstance(error, CommandError):
        say(str(error))
        return error.code
    if isinstance(error, _expected()):
        say(str(error))
        return ExitCode.USAGE
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        say(f"{place}{error.strerror or error}")
        return ExitCode.USAGE
    say(
        f"an error of llmdebug itself: {type(error).__name__}: {error}. Please report it as the README's "
        f'"Reporting a bug" tells; {DEBUG_VARIABLE}=1 shows where it happened.'
    )
    return ExitCode.BUG


def _expected() -> tuple[type[Exception], ...]:
    """Errors whose text is a sentence for the user; imported only when something went wrong."""
    try:
        from llmdebug.config.load import ConfigError
        from llmdebug.debugger.condition import ConditionError, SlowExpressionError
        from llmdebug.debugger.recorder import NotRecordedError
        from llmdebug.debugger.session import SessionError
        from llmdebug.formats.errors import FormatError
        from llmdebug.http.credentials import CredentialsError
        from llmdebug.http.options import ClientOptionsError
        from llmdebug.source.tree import TreeError
        from llmdebug.tokens.values import TokenizerError
    except ImportError:  # what went wrong may be the installation itself
        return ()
    return (
        ConfigError,
        ConditionError,
        SlowExpressionError,
        NotRecordedError,
        SessionError,
        FormatError,
        CredentialsError,
        ClientOptionsError,
        TreeError,
        TokenizerError,
    )


def _forget_stdout() -> None:
    """So that the interpreter's last flush fails silently."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
