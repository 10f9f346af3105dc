"""Parse integers from clients, which may have any number of digits.

Python refuses to parse an integer of more than 4,300 digits.  Go parses 64 bits and reports
anything longer as out of range, so for a longer number callers only need to know that it is too
large.
"""

_DIGITS_MAX = 40
HUGE: int = 10**_DIGITS_MAX


def read_int(text: str) -> int:
    """Return the integer in the text; ``HUGE`` or ``-HUGE`` beyond 40 digits."""
    if len(text) <= _DIGITS_MAX:
        return int(text)
    digits = text.lstrip("+-").lstrip("0")
    if not (digits.isascii() and (digits.isdigit() or not digits)):
        raise ValueError(f"{text[:_DIGITS_MAX]}... is not a number")
    if len(digits) <= _DIGITS_MAX:
        return int(f"{'-' if text[0] == '-' else ''}{digits or '0'}")
    return -HUGE if text[0] == "-" else HUGE
