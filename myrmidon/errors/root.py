"""MyrmidonError, and helpers that print names and values in messages."""

from collections.abc import Sequence

BRIEF_MAX = 200


class MyrmidonError(Exception):
    """The base class of every error that myrmidon raises."""


def brief(value: object) -> str:
    """Return the repr of a value, shortened; its type if the repr raises."""
    try:
        shown = repr(value)
    except Exception:  # noqa: BLE001 - a user's class may raise anything here
        shown = f"a {type(value).__name__}"
    return shown if len(shown) <= BRIEF_MAX else f"{shown[:BRIEF_MAX]}…"


def names_of(names: Sequence[str]) -> str:
    """Return names in quotes, joined by commas."""
    return ", ".join(repr(name) for name in names)
