"""The kinds of outputs: what a state asks for, one value for each object or part of an object.

============  ======================================================  ==============================
output        the state called                                        what should be true afterwards
============  ======================================================  ==============================
``Apply``     ``out.apply(obj)``                                      the child exists, with these
                                                                      fields
``Delete``    ``out.delete(...)``                                     the object is gone
``Edit``      ``out.patch``, ``out.scale``, ``out.label_self``,       an existing object, or one of
              ``out.annotate_self``,                                  its subresources, has the
              ``out.apply(..., subresource="status")``                values of a patch
``Release``   ``out.release(obj)``                                    the object exists, and is not
                                                                      a child of the parent
============  ======================================================  ==============================

``DeleteAll`` (``out.delete_all``) is a rule for several objects: before anything is written, the
pass replaces it with one ``Delete`` for each object that matches (``sets.ownership.selection``).
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.managed_fields import field_manager
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.sets.outputs.options import DEFAULT, ApplyOptions

Propagation: TypeAlias = Literal["Background", "Foreground", "Orphan"]
PatchType: TypeAlias = Literal["merge", "json", "strategic"]


class Apply(NamedTuple):
    """The object should exist and have at least the fields of the manifest."""

    ref: ObjectRef
    manifest: Json
    options: ApplyOptions = DEFAULT
    author: str = ""  # ``controller.state``: the state that declared it
    text: bytes = b""
    """JSON from which the manifest, with ``ref`` and ``options``, was made; empty if it is not known.
    Outputs with equal texts need not be encoded to see that they are equal."""


class Delete(NamedTuple):
    """The object should be gone; ``propagation`` says what becomes of the objects that it owns."""

    ref: ObjectRef
    propagation: Propagation = "Background"
    adopt: bool = False  # also if it names no parent and this controller did not write it
    author: str = ""


class Edit(NamedTuple):
    """An existing object, or one of its subresources, should have the values of a patch.

    The object need not be a child, unless ``owned`` is set.  It is never created, does not get an
    owner reference, and is neither recorded nor pruned.
    """

    ref: ObjectRef
    body: Any  # a map, or a list of operations if ``type`` is "json"
    type: PatchType = "merge"
    subresource: str = ""
    owned: bool = False  # refuse an object that is not a child of the parent
    author: str = ""


class Release(NamedTuple):
    """The object should not be a child of the parent: no owner reference, no tracking label."""

    ref: ObjectRef
    author: str = ""


class DeleteAll(NamedTuple):
    """All children of one kind whose labels match should be gone."""

    kind: Kind
    selector: str
    namespace: str  # "" for all namespaces
    propagation: Propagation = "Background"
    adopt: bool = False
    author: str = ""


Output: TypeAlias = Apply | Delete | Edit | Release
Key: TypeAlias = ObjectRef | tuple[ObjectRef, str]


def key_of(edit: Edit) -> Key:
    """Return the object and the part of it that a patch is about; other outputs have one per object."""
    return edit.ref, f"{edit.subresource}:{edit.type}"


class OutputDefaults(NamedTuple):
    """What a controller sets for all outputs of its states."""

    labels: Mapping[str, str]
    remove_undeclared: bool


def manager_of(output: Output) -> str:
    """Return the output's field manager: ``ApplyOptions.field_manager``, or the controller's."""
    chosen = output.options.field_manager if isinstance(output, Apply) else None
    return manager_for(output.author, chosen)


@lru_cache(maxsize=1024)
def manager_for(author: str, chosen: str | None) -> str:
    """Return the field manager of an author's outputs, or the one that its options name."""
    return field_manager(chosen or author.partition(".")[0] or "myrmidon")


def describe_output(output: Output) -> str:
    """Return the object that an output is about, with its subresource if there is one."""
    part = output.subresource if isinstance(output, Edit) else ""
    return f"{output.ref}/{part}" if part else str(output.ref)
