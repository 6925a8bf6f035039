"""What can be set, and its defaults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One key of the config file."""

    name: str
    kind: type
    default: Any
    help: str
    variable: str = ""
    """The environment variable that sets it too."""
    unit: str = "seconds"
    """Of a number."""


SETTINGS: tuple[Setting, ...] = (
    Setting(
        name="theme",
        kind=str,
        default="auto",
        variable="LLMDEBUG_THEME",
        help="the theme: auto, a name of the shipped ones, or of a file in the themes folder beside this file",
    ),
    Setting(
        name="editor",
        kind=str,
        default="",
        variable="LLMDEBUG_EDITOR",
        help="the editor to open files with, before $VISUAL and $EDITOR; may hold {file} and {line}",
    ),
    Setting(
        name="mouse",
        kind=bool,
        default=True,
        variable="LLMDEBUG_MOUSE",
        help="whether the mouse moves the cursor; false leaves it to the terminal",
    ),
    Setting(
        name="connect_timeout",
        kind=float,
        default=10.0,
        variable="LLMDEBUG_CONNECT_TIMEOUT",
        help="seconds for the connection; 0 waits for ever",
    ),
    Setting(
        name="first_byte_timeout",
        kind=float,
        default=600.0,
        variable="LLMDEBUG_FIRST_BYTE_TIMEOUT",
        help="seconds until the answer begins; a model that loads is slow with it",
    ),
    Setting(
        name="timeout",
        kind=float,
        default=3600.0,
        variable="LLMDEBUG_TIMEOUT",
        help="seconds for the whole exchange; 0 waits for ever",
    ),
    Setting(
        name="record",
        kind=bool,
        default=True,
        variable="LLMDEBUG_RECORD",
        help="whether exchanges are kept in the history",
    ),
    Setting(
        name="history_mb",
        kind=float,
        unit="megabytes",
        default=500.0,
        variable="LLMDEBUG_HISTORY_MB",
        help="megabytes of history to keep; the oldest exchanges go when llmdebug starts; 0 keeps all",
    ),
    Setting(
        name="probe",
        kind=bool,
        default=True,
        variable="LLMDEBUG_PROBE",
        help="whether a server is asked what it is (GET requests), to hold its version and routes against the source",
    ),
)

BY_NAME: dict[str, Setting] = {setting.name: setting for setting in SETTINGS}
KEYS_TABLE = "keys"
"""The table of key bindings: command = \"key\" or [\"key\", …]."""


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """An effective value and where it comes from."""

    value: Any
    origin: str
    """`default`, the file and line, the environment variable, or the flag."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The effective settings."""

    path: Path | None
    """The file that is, or would be, read; None where there is no home folder."""
    exists: bool
    values: Mapping[str, Value]
    keys: Mapping[str, tuple[str, ...]]
    """Keys by command, as the user wrote them; the app says which it cannot use."""
    keys_origin: Mapping[str, str]

    @property
    def theme(self) -> str:
        return str(self.values["theme"].value)

    @property
    def editor(self) -> str:
        return str(self.values["editor"].value)

    @property
    def mouse(self) -> bool:
        return bool(self.values["mouse"].value)

    @property
    def record(self) -> bool:
        return bool(self.values["record"].value)

    @property
    def history_mb(self) -> float:
        return float(self.values["history_mb"].value)

    @property
    def probe(self) -> bool:
        return bool(self.values["probe"].value)

    @property
    def connect_timeout_s(self) -> float | None:
        """None waits for ever."""
        return float(self.values["connect_timeout"].value) or None

    @property
    def first_byte_timeout_s(self) -> float | None:
        return float(self.values["first_byte_timeout"].value) or None

    @property
    def total_timeout_s(self) -> float | None:
        return float(self.values["timeout"].value) or None

    @property
    def theme_folder(self) -> Path | None:
        """Where the user's own themes lie."""
        return self.path.parent / "themes" if self.path is not None else None

    @property
    def family_folder(self) -> Path | None:
        """Where the user's own families of servers lie."""
        return self.path.parent / "families" if self.path is not None else None
