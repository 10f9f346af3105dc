"""Field ownership: ``metadata.managedFields`` and server-side apply.

``after_update`` computes the owners after a create, update or patch.  ``after_apply`` computes the
object and its owners after a server-side apply.  ``to_scale`` and ``from_scale`` translate ownership
between an object and its scale subresource.
"""

from myrmidon.apiserver.fields.applying import Applied, after_apply
from myrmidon.apiserver.fields.blanks import blank_of
from myrmidon.apiserver.fields.conflicts import ApplyConflict, Conflict
from myrmidon.apiserver.fields.elements import Path
from myrmidon.apiserver.fields.entries import same_but_for_times
from myrmidon.apiserver.fields.fieldset import FieldSet
from myrmidon.apiserver.fields.scaling import SCALE_VERSION, from_scale, replicas_path, to_scale
from myrmidon.apiserver.fields.updating import after_update
from myrmidon.apiserver.fields.versions import (
    NO_RESET,
    ResetFields,
    Versions,
    keeping,
    resetting,
)

__all__ = [
    "NO_RESET",
    "SCALE_VERSION",
    "Applied",
    "ApplyConflict",
    "Conflict",
    "FieldSet",
    "Path",
    "ResetFields",
    "Versions",
    "after_apply",
    "after_update",
    "blank_of",
    "from_scale",
    "keeping",
    "replicas_path",
    "resetting",
    "same_but_for_times",
    "to_scale",
]
