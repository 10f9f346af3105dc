"""JSON documents: merge patches, JSON patches, whether one covers another, differences."""

from myrmidon.patch.covering import covers, covers_object, leaves_doubt
from myrmidon.patch.diff import difference
from myrmidon.patch.merge_patch import merge, missing

__all__ = ["covers", "covers_object", "difference", "leaves_doubt", "merge", "missing"]
