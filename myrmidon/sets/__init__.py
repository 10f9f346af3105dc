"""Outputs: the objects that a state wants to exist or to be gone, and the request for each."""

from myrmidon.sets.object_set import ObjectSet
from myrmidon.sets.options import ApplyOptions
from myrmidon.sets.output_set import OutputSet
from myrmidon.sets.outputs import Apply, Delete, Edit, Output, Release
from myrmidon.sets.ownership import Parent
from myrmidon.sets.planning import plan
from myrmidon.sets.recreation import Recreation, plan_recreate

__all__ = [
    "Apply",
    "ApplyOptions",
    "Delete",
    "Edit",
    "ObjectSet",
    "Output",
    "OutputSet",
    "Parent",
    "Recreation",
    "Release",
    "plan",
    "plan_recreate",
]
