"""``Unstructured``: an object of any kind, as JSON with typed metadata.

For kinds that no Resource class describes: built-in kinds, and custom kinds of other projects.

    class Tenants(Controller[Unstructured], kind=kinds.NAMESPACE): ...

    class Certificate(Unstructured, kind=Kind("cert-manager.io", "v1", "Certificate", "certificates")):
        ...
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, ClassVar, Self

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.typed.class_keywords import pass_on
from myrmidon.api.typed.definitions import mistake
from myrmidon.api.typed.frozen import ReadOnlyError, frozen
from myrmidon.api.typed.metadata import HasMetadata


class Unstructured(HasMetadata):
    """An object that was read from the server: typed metadata, and its fields as read-only JSON.

    ``obj["spec"]["replicas"]``, ``obj.get("data")``, ``"spec" in obj``, ``obj.labels``, ``obj.raw``.
    """

    KIND: ClassVar[Kind]

    __slots__ = ("_raw",)

    _raw: Json

    def __init_subclass__(cls, *, kind: Kind | None = None, **kwargs: Any) -> None:
        pass_on(cls, super().__init_subclass__, kwargs)
        if kind is not None:
            cls.KIND = kind
        if not isinstance(getattr(cls, "KIND", None), Kind):
            raise mistake(
                f"{cls.__name__} does not say of which kind its objects are",
                f"write class {cls.__name__}(Unstructured, kind=kinds.NAMESPACE), "
                "or kind=Kind(group, version, kind, plural, namespaced)",
            )

    @classmethod
    def from_json(cls, obj: Json) -> Self:
        """Build an object from the server's JSON, which is kept and not copied."""
        self = cls.__new__(cls)
        self._raw, self._metadata = obj, obj.get("metadata") or {}
        return self

    def to_json(self) -> Json:
        """Return a copy of the object as JSON."""
        made = deepcopy(self._raw)
        made["apiVersion"], made["kind"] = self.KIND.api_version, self.KIND.kind
        return made

    @property
    def raw(self) -> Json:
        """The JSON as it was read.  It is not a copy: do not change it."""
        return self._raw

    @property
    def ref(self) -> ObjectRef:
        """The reference of this object."""
        return ObjectRef(self.KIND, self.name, self.namespace if self.KIND.namespaced else "")

    def get(self, field: str, default: Any = None) -> Any:
        """Return a field of the object, read-only; ``default`` if it does not have it."""
        return frozen(self._raw[field], f"obj.{field}") if field in self._raw else default

    def __getitem__(self, field: str) -> Any:
        return frozen(self._raw[field], f"obj.{field}")

    def __contains__(self, field: object) -> bool:
        return field in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __repr__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.KIND.kind}({where})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._raw == other.raw

    __hash__ = None  # type: ignore[assignment]

    def _refuse_if_read(self, part: str) -> None:
        raise ReadOnlyError(f"obj.{part}")


def unstructured(kind: Kind) -> type[Unstructured]:
    """Return a class of Unstructured objects of this kind, named like the kind."""
    made: type[Unstructured] = type(kind.kind, (Unstructured,), {"KIND": kind, "__slots__": ()})
    return made
