"""The labels ``app.kubernetes.io/managed-by`` and ``part-of``, for ``ControllerOptions.standard_labels``."""

import re
from functools import lru_cache

from myrmidon.sets.fingerprints import fingerprint

MANAGED_BY = "app.kubernetes.io/managed-by"
PART_OF = "app.kubernetes.io/part-of"

_LENGTH_MAX = 63  # the longest value of a label
_UNFIT = re.compile(r"[^A-Za-z0-9._-]")


@lru_cache(maxsize=1024)
def standard_labels(controller: str, parent: str) -> dict[str, str]:
    """Return the labels of all children of one parent."""
    return {MANAGED_BY: label_value(controller), PART_OF: label_value(parent)}


def label_value(text: str) -> str:
    """Return the text as the value of a label; one that does not fit is shortened, with a hash.

    Values have at most 63 characters, and names of objects up to 253.
    """
    fit = _UNFIT.sub("-", text).strip("._-")
    if fit == text and len(text) <= _LENGTH_MAX:
        return text
    suffix = fingerprint({"text": text})
    return f"{fit[: _LENGTH_MAX - len(suffix) - 1].rstrip('._-')}-{suffix}".lstrip("-")
