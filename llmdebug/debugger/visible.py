"""Untrusted text made safe to show: what would steer a terminal is shown as a sign instead."""

from __future__ import annotations

_SIGNS: dict[int, str] = {code: chr(0x2400 + code) for code in range(0x20) if code not in (0x09, 0x0A)}
_SIGNS[0x7F] = "\u2421"
_SIGNS.update({code: f"\\x{code:02x}" for code in range(0x80, 0xA0)})
_BIDIRECTIONAL = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SIGNS.update({code: f"\\u{code:04x}" for code in (*_BIDIRECTIONAL, 0x2028, 0x2029, 0xFEFF)})


def visible(text: str) -> str:
    """The text with controls, escapes and direction marks as visible signs; line ends and tabs stay."""
    shown = text.replace("\r\n", "\n").translate(_SIGNS)
    return shown.encode("utf-8", "replace").decode("utf-8") if _holds_surrogates(shown) else shown


def _holds_surrogates(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)
