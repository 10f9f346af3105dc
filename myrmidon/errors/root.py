"""The root of every error, and how names and values are printed in messages."""

from collections.abc import Sequence

BRIEF_MAX = 200


class MyrmidonError(Exception):
    """The root of every error that myrmidon raises."""


def brief(value: object) -> str:
    """Return the repr of a value, shortened; its type where the repr itself raises."""
    try:
        shown = repr(value)
    except Exception:  # noqa: BLE001 - a class of a user may do anything here
        shown = f"a {type(value).__name__}"
    return shown if len(shown) <= BRIEF_MAX else f"{shown[:BRIEF_MAX]}…"


def names_of(names: Sequence[str]) -> str:
    """Return names in quotes, joined by commas."""
    return ", ".join(repr(name) for name in names)
