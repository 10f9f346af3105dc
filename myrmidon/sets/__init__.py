"""Outputs: the objects that a state wants to exist or to be gone, and the request for each."""

from myrmidon.sets.object_set import ObjectSet
from myrmidon.sets.options import ApplyOptions
from myrmidon.sets.output_set import Apply, Delete, Output, OutputSet
from myrmidon.sets.ownership import Parent
from myrmidon.sets.planning import plan
from myrmidon.sets.recreation import Recreation, plan_recreate

__all__ = [
    "Apply",
    "ApplyOptions",
    "Delete",
    "ObjectSet",
    "Output",
    "OutputSet",
    "Parent",
    "Recreation",
    "plan",
    "plan_recreate",
]
