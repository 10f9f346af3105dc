"""Suspension: the label ``myrmidon.dev/suspend=true`` stops all work on one object."""

from collections.abc import Mapping
from typing import Any

from myrmidon.api.objects.accessors import labels_of

SUSPEND = "myrmidon.dev/suspend"


def is_suspended(obj: Mapping[str, Any]) -> bool:
    """Whether the object is suspended by its label.  Any value but ``"true"`` has no effect."""
    return labels_of(obj).get(SUSPEND) == "true"
