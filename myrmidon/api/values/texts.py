"""Text that ends up in a condition, an Event or a log line: made encodable, and bounded in length.

Such text comes from exceptions, from the server's answers and from specs that either of them
quotes, so it can have any content: it may be a megabyte long, or not encodable in UTF-8 because it
contains half of a surrogate pair.  The API server refuses a whole status for one message that is
too long, and a JSON encoder refuses a whole request for one bad character; the user would then see
no message at all.  Therefore the text is changed, visibly, where it is written:

- a lone surrogate becomes U+FFFD, the replacement character;
- text over the limit is cut at a character boundary and ends with how much was left out.

The result depends on the text alone, so the same error always gives the same message.

The data of a user (an object that a state applies) is never changed like this; see ``json_values``.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

CONDITION_MESSAGE_MAX = 32_768
"""Characters; the limit of ``metav1.Condition``."""
CONDITION_REASON_MAX = 1024
"""Characters; the limit of ``metav1.Condition``."""
CONDITION_TYPE_MAX = 316
"""Characters; the limit of ``metav1.Condition``."""
EVENT_MESSAGE_BYTES_MAX = 1024
EVENT_REASON_BYTES_MAX = 128

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NOTE_BYTES = 48  # room for the note about what was left out, with a number of any length


def printable(text: str) -> str:
    """Return the text with every lone surrogate replaced by U+FFFD, so that it can be encoded."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def has_lone_surrogate(text: str) -> bool:
    """Whether the text has no UTF-8 encoding."""
    return not text.isascii() and _LONE_SURROGATE.search(text) is not None


def shortened(text: str, limit: int) -> str:
    """Return the text, cut to at most ``limit`` characters with a note of how many are left out."""
    if len(text) <= limit:
        return text
    kept = text[: limit - _NOTE_BYTES]
    return f"{kept}{_note(len(text) - len(kept))}"


def shortened_to_bytes(text: str, limit: int) -> str:
    """Return printable text, cut to at most ``limit`` bytes of UTF-8, never inside a character."""
    if len(text) * 4 <= limit:
        return text
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    kept = encoded[: limit - _NOTE_BYTES].decode(errors="ignore")
    return f"{kept}{_note(len(text) - len(kept))}"


def is_shortened(text: str) -> bool:
    """Whether the text ends with the note that ``shortened`` leaves."""
    return text.endswith(_NOTE_END)


def condition_message(text: str) -> str:
    """Return the text as the message of a condition."""
    return shortened(printable(text), CONDITION_MESSAGE_MAX)


def event_reason(text: Any) -> str:
    """Return the text as the reason of an Event."""
    return shortened_to_bytes(printable(text_of(text)), EVENT_REASON_BYTES_MAX)


def event_message(text: Any) -> str:
    """Return the text as the message of an Event."""
    return shortened_to_bytes(printable(text_of(text)), EVENT_MESSAGE_BYTES_MAX)


def text_of(value: Any) -> str:
    """Return ``str(value)``, or a replacement text if ``__str__`` raises."""
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001 - a user's exception class may raise anything here
        return f"(the text of this {type(value).__name__} cannot be read: {type(error).__name__})"


_NOTE_END = " characters left out)"


def _note(characters: int) -> str:
    return f"… ({characters}{_NOTE_END}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that was probably meant, ``""`` if none is close.

    Case and underscores do not count: ``CONFIGMAP`` is near ``CONFIG_MAP``.
    """
    plain = {each.replace("_", "").lower(): each for each in known}
    close = get_close_matches(name.replace("_", "").lower(), plain, n=1)
    return plain[close[0]] if close else ""
