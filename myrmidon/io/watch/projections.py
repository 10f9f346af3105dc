"""Projection: the part of an object that a cache keeps."""

from dataclasses import dataclass

from myrmidon.api.objects.accessors import Json


@dataclass(frozen=True, slots=True)
class Projection:
    """Keeps the metadata and some fields of an object.

    ``fields`` are paths such as ``spec.replicas``.  Equal projections are the same transform, so
    controllers that keep the same fields share a cache.
    """

    fields: tuple[str, ...]

    def __call__(self, obj: Json) -> Json:
        """Return an object with these fields; those that it does not have are left out."""
        kept: Json = {name: obj[name] for name in ("apiVersion", "kind", "metadata") if name in obj}
        for path in self.fields:
            _copy(obj, kept, path.split("."))
        return kept


def _copy(source: Json, target: Json, steps: list[str]) -> None:
    """Copy the value at a path, unless the path does not exist or is kept already."""
    *parents, last = steps
    for step in parents:
        inner = source.get(step)
        if not isinstance(inner, dict):
            return
        known = target.setdefault(step, {})
        if known is inner:
            return  # a shorter path keeps all of it
        source, target = inner, known
    if last in source:
        target[last] = source[last]
