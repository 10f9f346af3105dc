"""Helpers that controllers of another module share."""

from typing import Any

from myrmidon.api.objects import kinds


def put_away(out: Any) -> None:
    """Delete an object."""
    out.delete(kinds.SERVICE, "a")
