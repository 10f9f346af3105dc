"""Outputs: the objects that a state wants to exist or to be gone, and the request for each.

planning           which request makes an output true; None if it holds already
recreation         whether a refused change is worth a new object
fingerprints       hashes of declared content
object_set         a set of objects by kind, namespace and name
outputs/           the OutputSet, its outputs and their options
ownership/         owner references, adoption, release, removal of what is no longer declared
stalls/            outputs that another client undoes after each write
"""

from myrmidon.sets.object_set import ObjectSet
from myrmidon.sets.outputs.options import ApplyOptions
from myrmidon.sets.outputs.output_set import OutputSet
from myrmidon.sets.outputs.outputs import Apply, Delete, Edit, Output, Release
from myrmidon.sets.ownership.owner_references import Parent
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
