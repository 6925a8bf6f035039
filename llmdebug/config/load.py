"""Reading the config file strictly, and laying flags over the environment over the file over the defaults."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from llmdebug.config.settings import BY_NAME, KEYS_TABLE, SETTINGS, Setting, Settings, Value

FILE_VARIABLE = "LLMDEBUG_CONFIG"
MAX_BYTES = 1_000_000
_TRUE, _FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


class ConfigError(ValueError):
    """The config file or a variable cannot be used; the text is a sentence with file and line."""


def config_path(environment: Mapping[str, str]) -> Path | None:
    """LLMDEBUG_CONFIG, else config.toml in the user's config folder; None where there is no home folder."""
    named = environment.get(FILE_VARIABLE)
    if named:
        return Path(named).expanduser()
    folder = environment.get("XDG_CONFIG_HOME")
    if folder and os.path.isabs(folder):
        return Path(folder) / "llmdebug" / "config.toml"
    try:
        return Path.home() / ".config" / "llmdebug" / "config.toml"
    except RuntimeError:
        return None


def load_settings(*, environment: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None) -> Settings:
    """The effective settings. `flags` that are None were not given. Raises ConfigError."""
    variables = os.environ if environment is None else environment
    path = config_path(variables)
    text = _read(path, named=bool(variables.get(FILE_VARIABLE)))
    values = {setting.name: Value(value=setting.default, origin="default") for setting in SETTINGS}
    keys: dict[str, tuple[str, ...]] = {}
    origins: dict[str, str] = {}
    if text is not None and path is not None:
        _lay_file(text, path, values, keys, origins)
    for setting in SETTINGS:
        written = variables.get(setting.variable)
        if written is not None:
            values[setting.name] = Value(value=_from_text(setting, written), origin=f"environment, {setting.variable}")
    for name, value in (flags or {}).items():
        if value is not None:
            values[name] = Value(value=value, origin=f"flag --{name.replace('_', '-')}")
    return Settings(path=path, exists=text is not None, values=values, keys=keys, keys_origin=origins)


def _read(path: Path | None, *, named: bool) -> str | None:
    """None where there is no file, which is in order unless it was named."""
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        if named:
            raise ConfigError(f"{path}: there is no such file; {FILE_VARIABLE} names it.") from None
        return None
    except OSError as error:
        raise ConfigError(f"{path}: the config file cannot be read: {error.strerror}.") from None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path}: the config file is larger than {MAX_BYTES:,} bytes.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: the byte 0x{data[error.start]:02X} is not UTF-8.") from None


def _lay_file(
    text: str, path: Path, values: dict[str, Value], keys: dict[str, tuple[str, ...]], origins: dict[str, str]
) -> None:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}:{_line_in(str(error), text)}: {error}.") from None
    except RecursionError:
        raise ConfigError(f"{path}: it is nested too deeply.") from None
    for name, value in document.items():
        place = f"{path}:{_line_of(text, name, '')}"
        if name == KEYS_TABLE:
            _lay_keys(text, path, value, keys, origins)
            continue
        setting = BY_NAME.get(name)
        if setting is None:
            raise ConfigError(f"{place}: there is no setting {name!r}{_nearest(name, [*BY_NAME, KEYS_TABLE])}")
        values[name] = Value(value=_checked(setting, value, place), origin=place)


def _lay_keys(text: str, path: Path, table: Any, keys: dict[str, tuple[str, ...]], origins: dict[str, str]) -> None:
    if not isinstance(table, dict):
        raise ConfigError(f'{path}:{_line_of(text, KEYS_TABLE, "")}: [keys] is a table: command = "key".')
    for command, written in table.items():
        place = f"{path}:{_line_of(text, command, KEYS_TABLE)}"
        listed = [written] if isinstance(written, str) else written
        if not isinstance(listed, list) or not all(isinstance(key, str) and key for key in listed):
            raise ConfigError(f'{place}: write the keys of {command!r} as "x" or ["x", "Ctrl-x"].')
        keys[command] = tuple(listed)
        origins[command] = place


def _checked(setting: Setting, value: Any, place: str) -> Any:
    if setting.kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        if value < 0:
            raise ConfigError(f"{place}: {setting.name} is a number of {setting.unit}, not {value}.")
        return float(value)
    if isinstance(value, setting.kind):
        return value
    wanted = {str: "a text in quotes", bool: "true or false", float: f"a number of {setting.unit}"}[setting.kind]
    raise ConfigError(f"{place}: {setting.name} is {wanted}.")


def _from_text(setting: Setting, written: str) -> Any:
    if setting.kind is bool:
        if written.lower() in _TRUE | _FALSE:
            return written.lower() in _TRUE
        raise ConfigError(f"{setting.variable}: {written!r} is neither true nor false.")
    if setting.kind is float:
        try:
            return _checked(setting, float(written), setting.variable)
        except ValueError as error:
            told = str(error) if isinstance(error, ConfigError) else f"{setting.variable}: {written!r} is no number."
            raise ConfigError(told) from None
    return written


def _line_of(text: str, key: str, table: str) -> int:
    """The line a key stands on; 1 where it is written in a way that this does not find."""
    current = ""
    pattern = re.compile(rf"\s*(?:\"{re.escape(key)}\"|'{re.escape(key)}'|{re.escape(key)})\s*(?:=|\.)")
    for number, line in enumerate(text.split("\n"), start=1):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line)
        if header:
            current = header[1].strip("\"'")
            if not table and current.partition(".")[0].strip("\"' ") == key:
                return number
        elif current == table and pattern.match(line):
            return number
    return 1


def _line_in(message: str, text: str) -> str:
    """The line that the TOML reader names; the last one for `at end of document`."""
    match = re.search(r"line (\d+)", message)
    return match[1] if match else str(max(len(text.rstrip().split("\n")), 1))


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}."
