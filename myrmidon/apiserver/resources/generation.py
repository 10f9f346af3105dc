"""``metadata.generation``: the number of the desired state of an object.

It is 1 for a new object, and grows by one with each write that changes what the user asks for:

- a custom resource: any field but metadata and, if it has the status subresource, the status
  (``custom/strategy.py``);
- a built-in kind: the fields that the real server compares, usually ``spec``; many kinds have no
  generation at all (``builtin/base_strategy.py``);
- any object with a generation: the mark of its deletion (``verbs/delete.py``).

A client cannot set it: what a request says about it is ignored.
"""

from myrmidon.api.objects.accessors import Json


def start_generation(obj: Json) -> None:
    """Set the generation of a new object."""
    obj["metadata"]["generation"] = 1


def generation_of(obj: Json) -> int:
    """Return the generation of an object; 0 if it has none."""
    generation: int = obj["metadata"].get("generation") or 0
    return generation


def grow_generation(obj: Json, old: Json) -> None:
    """Set the generation of an object whose desired state differs from that of ``old``."""
    obj["metadata"]["generation"] = generation_of(old) + 1
