"""Suspension: a label that stops all work on one object."""

from collections.abc import Mapping
from typing import Any

from myrmidon.api.objects import labels_of

SUSPEND = "myrmidon.dev/suspend"


def is_suspended(obj: Mapping[str, Any]) -> bool:
    """Whether the object asks to be left alone.  Only ``"true"`` does; ``"false"`` says the opposite."""
    return labels_of(obj).get(SUSPEND) == "true"
