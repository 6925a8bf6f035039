"""What is wrong in a file, and where."""

from __future__ import annotations

from pathlib import Path


class FormatError(ValueError):
    """A file cannot be read as what it claims to be. Its text begins with the place, as compilers write it."""

    def __init__(self, path: str | Path, message: str, *, line: int | None = None, entry: int | None = None):
        self.path = str(path)
        self.line = line
        """From 1; None where no single line is at fault."""
        self.entry = entry
        """The entry's number, from 1, in files that consist of entries."""
        self.message = message
        place = self.path or "(text)"
        if line is not None:
            place += f":{line}"
        if entry is not None:
            place += f", entry {entry}"
        super().__init__(f"{place}: {message}")


def read_file(path: str | Path, limit: int) -> bytes:
    """A file's bytes; FormatError where it cannot be read or is larger than `limit` bytes."""
    try:
        with open(path, "rb") as file:
            data = file.read(limit + 1)
    except FileNotFoundError:
        raise FormatError(path, "There is no such file.") from None
    except IsADirectoryError:
        raise FormatError(path, "This is a folder, not a file.") from None
    except (OSError, ValueError) as error:
        told = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise FormatError(path, f"The file cannot be read: {told}.") from None
    if len(data) > limit:
        raise FormatError(path, f"The file is larger than {limit:,} bytes.")
    return data


def decode_text(data: bytes, path: str | Path) -> str:
    """UTF-8, with or without a byte order mark; FormatError names the line of the first other byte."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FormatError(path, f"The byte 0x{data[error.start]:02X} is not UTF-8.", line=line) from None
