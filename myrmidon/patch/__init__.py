"""Algebra of JSON documents: merge, compare, tell the difference."""

from myrmidon.patch.covering import covers, covers_object, leaves_doubt
from myrmidon.patch.diff import difference
from myrmidon.patch.merge_patch import merge, missing, same

__all__ = ["covers", "covers_object", "difference", "leaves_doubt", "merge", "missing", "same"]
