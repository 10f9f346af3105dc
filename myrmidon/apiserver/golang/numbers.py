"""Numbers in texts of clients, which may have any number of digits.

Python refuses to read an integer of more than 4,300 digits.  Go reads 64 bits and says that the rest
is out of range, so all that callers need to know of a longer number is that it is too large.
"""

_DIGITS_MAX = 40
HUGE: int = 10**_DIGITS_MAX


def read_int(text: str) -> int:
    """The integer that the text stands for; beyond 40 digits ``HUGE`` or ``-HUGE``."""
    if len(text) <= _DIGITS_MAX:
        return int(text)
    digits = text.lstrip("+-").lstrip("0")
    if not (digits.isascii() and (digits.isdigit() or not digits)):
        raise ValueError(f"{text[:_DIGITS_MAX]}... is not a number")
    if len(digits) <= _DIGITS_MAX:
        return int(f"{'-' if text[0] == '-' else ''}{digits or '0'}")
    return -HUGE if text[0] == "-" else HUGE
