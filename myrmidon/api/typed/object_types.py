"""What may stand for a kind, and the objects that it gives: one truth for all places that take one.

=================================  =====================================  =========================
where a kind is expected           its kind                               objects are returned as
=================================  =====================================  =========================
``Kind``                           itself                                 JSON
a Resource class                   ``KIND``                               that class
a class derived from Unstructured  ``KIND``                               that class
a kubernetes-asyncio model class   by its name (``api.models``)           that model
=================================  =====================================  =========================
"""

import re
from collections.abc import Callable
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.api.typed.models import (
    is_model,
    is_model_object,
    model_from_json,
    model_json,
    model_kind,
)
from myrmidon.errors import DefinitionError

KindLike: TypeAlias = Kind | type[Any]
"""What may be given for a kind, for type checkers; ``kind_of`` decides."""


def kind_of(entry: Any) -> Kind | None:
    """Return the kind of a ``Kind``, a Resource class or a model class; None for other values."""
    if isinstance(entry, Kind):
        return entry
    if not isinstance(entry, type):
        return None
    if is_model(entry):
        return model_kind(entry)
    found = getattr(entry, "KIND", None)
    return found if isinstance(found, Kind) else None


def refuse_kind(where: str, of: Any) -> None:
    """Raise ``DefinitionError`` for ``Controller[kinds.POD]``: a type argument is a class."""
    if isinstance(of, Kind):
        raise DefinitionError(
            f"{where}[...] got the kind {of.kind}, and it takes the class of the objects.\n"
            f"  fix: write `({where}[Unstructured], kind=kinds.{_constant(of)})`"
        )


def _constant(kind: Kind) -> str:
    """Return the name of the kind's constant: ``CONFIG_MAP`` for ConfigMap."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.kind).upper()


def reader_of(entry: Any) -> Callable[[Json], Any]:
    """Return the function from an object's JSON to what ``entry`` stands for; JSON for a Kind."""
    if is_model(entry):
        return lambda obj: model_from_json(entry, obj)
    if isinstance(entry, type):
        read: Callable[[Json], Any] = entry.from_json  # type: ignore[attr-defined]
        return read
    return lambda obj: obj


def raw_of(obj: Any) -> Any:
    """Return the JSON of an object in any of these forms; other values as they are."""
    if is_model_object(obj):
        return model_json(obj)
    return getattr(obj, "raw", obj)


def is_defined_here(resource: Any) -> bool:
    """Whether the class is a Resource whose CRD this program generates, so its status is ours."""
    return getattr(getattr(resource, "DEFINITION", None), "foreign", None) is False
