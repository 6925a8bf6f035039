"""The folder of everything that is kept between runs, and writing into it privately."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import platformdirs

STATE_VARIABLE = "LLMDEBUG_STATE_DIR"


class HistoryError(Exception):
    """Nothing can be kept, or what was kept cannot be read; the message is a sentence for the user.

    Front ends warn once and go on without a history.
    """


def state_folder() -> Path:
    """LLMDEBUG_STATE_DIR, else the user's state folder; created, for the user alone. Raises HistoryError."""
    named = os.environ.get(STATE_VARIABLE)
    return created(Path(named) if named else _users_folder())


def _users_folder() -> Path:
    """Without a home folder platformdirs raises, or in older versions gives a relative path."""
    try:
        folder = platformdirs.user_state_path("llmdebug")
    except RuntimeError:
        folder = Path()
    if not folder.is_absolute():
        raise HistoryError(f"There is no home folder to keep a history in: set {STATE_VARIABLE}.")
    return folder


def created(folder: Path) -> Path:
    """The folder, created if need be, with its parents. Raises HistoryError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise unusable(folder, error) from error
    return folder


def unusable(path: Path, error: Exception) -> HistoryError:
    told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return HistoryError(f"{path} cannot be used: {told}. Name another folder with {STATE_VARIABLE}.")


def write_privately(path: Path, data: bytes) -> None:
    """Replaces a file at once or not at all; readable by the user alone. Raises HistoryError."""
    try:
        number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise unusable(path.parent, error) from error
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise unusable(path, error) from error
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes a new file's name last; file systems that cannot are left alone."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(number)
    except OSError:
        return
    finally:
        os.close(number)
