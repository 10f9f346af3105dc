"""OutputSet: what one state wants to exist or to be gone, one intention per object."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from myrmidon.api import kinds as well_known
from myrmidon.api.objects import Json, describe
from myrmidon.api.refs import Kind, ObjectRef, kinds_by_name
from myrmidon.errors import (
    GeneratedNameError,
    OutputError,
    ProgrammingError,
    UndeclaredOutputError,
    UnidentifiedObjectError,
)
from myrmidon.sets.manifests import manifest_of
from myrmidon.sets.options import DEFAULT, ApplyOptions, chosen


class Apply(NamedTuple):
    """The object should exist and say at least this."""

    ref: ObjectRef
    manifest: Json
    options: ApplyOptions = DEFAULT
    author: str = ""  # ``controller.state``: whose declaration this is


class Delete(NamedTuple):
    """The object should be gone; with ``foreground`` it stays until all that it owns is gone."""

    ref: ObjectRef
    foreground: bool = False


Output: TypeAlias = Apply | Delete


class OutputSet:
    """The objects that a state applies and deletes.

    One intention per object: the last of ``apply`` and ``delete`` wins, with its own options.
    Namespaced objects without a namespace go to the one of the parent.
    """

    __slots__ = ("_author", "_class_name", "_intentions", "_kinds", "_namespace", "_state")

    def __init__(
        self,
        kinds: Iterable[Kind] | None = None,
        *,
        namespace: str = "",
        controller: str = "",
        state: str = "",
        class_name: str = "",
    ) -> None:
        self._kinds = _WELL_KNOWN if kinds is None else kinds_by_name(tuple(kinds))
        self._namespace, self._state = namespace, state
        self._author = f"{controller}.{state}" if controller else state
        self._class_name = class_name or controller or "the controller"
        self._intentions: dict[ObjectRef, Output] = {}

    def apply(self, obj: Any, **options: Any) -> None:
        """Say that the object should exist with these fields; see ``ApplyOptions`` for the options."""
        self._put(obj, chosen(options))

    def apply_all(self, objs: Iterable[Any], **options: Any) -> None:
        """Apply several objects with the same options."""
        same = chosen(options)
        for obj in objs:
            self._put(obj, same)

    def delete(
        self,
        what: Any,
        name: str | None = None,
        namespace: str | None = None,
        *,
        foreground: bool = False,
    ) -> None:
        """Say that an object should be gone: an object, a reference, or a kind with a name."""
        ref = self._ref_to_delete(what, name, namespace)
        self._intend(Delete(ref, foreground))

    def __iter__(self) -> Iterator[Output]:
        return iter(self._intentions.values())

    def __len__(self) -> int:
        return len(self._intentions)

    def __contains__(self, ref: object) -> bool:
        return ref in self._intentions

    def applied(self) -> list[Apply]:
        """What should exist, in order."""
        return [output for output in self if isinstance(output, Apply)]

    def deleted(self) -> list[Delete]:
        """What should be gone, in order."""
        return [output for output in self if isinstance(output, Delete)]

    def __repr__(self) -> str:
        words = (f"{type(output).__name__.lower()} {output.ref}" for output in self)
        return f"OutputSet({', '.join(words)})"

    # ------------------------------------------------------------------------ inside

    def _put(self, obj: Any, options: ApplyOptions) -> None:
        manifest = manifest_of(obj)
        ref = self._ref_of(manifest)
        if ref.namespace:
            manifest["metadata"]["namespace"] = ref.namespace
        else:  # the server would drop it, and we would miss it for ever
            manifest["metadata"].pop("namespace", None)
        self._intend(Apply(ref, manifest, options, self._author))

    def _intend(self, output: Output) -> None:
        # Out and in again: the last word also takes the last place.
        self._intentions.pop(output.ref, None)
        self._intentions[output.ref] = output

    def _ref_of(self, manifest: Mapping[str, Any]) -> ObjectRef:
        version, called = manifest.get("apiVersion"), manifest.get("kind")
        try:
            kind = self._kinds.get((version or "", called or ""))
        except TypeError:  # a list or a map has no hash
            kind = None
        if kind is None:
            raise self._unknown(manifest)
        meta = manifest.get("metadata") or {}
        if not isinstance(meta, dict):
            raise _not_a("metadata", "dict", meta, manifest)
        name, namespace = meta.get("name"), meta.get("namespace")
        if not name and meta.get("generateName"):
            raise GeneratedNameError(f"{called} {meta['generateName']}*")
        for field, value in (("name", name), ("namespace", namespace)):
            if value and not isinstance(value, str):
                raise _not_a(f"metadata.{field}", "string", value, manifest)
        return self._located(kind, name or "", namespace)

    def _unknown(self, manifest: Mapping[str, Any]) -> ProgrammingError:
        """The error for an object whose apiVersion and kind are not those of a managed kind."""
        for field in ("apiVersion", "kind"):
            value = manifest.get(field)
            if not value:
                return UnidentifiedObjectError(field, describe(manifest))
            if not isinstance(value, str):
                return _not_a(field, "string", value, manifest)
        return self._undeclared(manifest["kind"], manifest["apiVersion"])

    def _ref_to_delete(self, what: Any, name: str | None, namespace: str | None) -> ObjectRef:
        # The order matters: references and kinds are tuples, resource classes are types.
        if isinstance(what, ObjectRef):
            return self._located(self._declared(what.kind), what.name, what.namespace)
        if isinstance(what, type):
            what = what.KIND  # type: ignore[attr-defined]  # a Resource class
        if isinstance(what, Kind):
            return self._located(self._declared(what), name or "", namespace)
        return self._ref_of(manifest_of(what))

    def _declared(self, kind: Kind) -> Kind:
        if kind not in self._kinds.values():
            raise self._undeclared(kind.kind, kind.api_version)
        return kind

    def _undeclared(self, kind: str, api_version: str) -> UndeclaredOutputError:
        return UndeclaredOutputError(
            self._class_name,
            self._state or "state",
            f"{kind} ({api_version})",
        )

    def _located(self, kind: Kind, name: str, namespace: str | None) -> ObjectRef:
        if not name:
            raise UnidentifiedObjectError("metadata.name", f"a {kind.kind}")
        if not kind.namespaced:
            return ObjectRef(kind, name)
        where = namespace or self._namespace
        if not where:
            raise UnidentifiedObjectError("metadata.namespace", f"{kind.kind} {name}")
        return ObjectRef(kind, name, where)


def _not_a(path: str, wanted: str, value: Any, manifest: Mapping[str, Any]) -> OutputError:
    return OutputError(
        f"{path} of {describe(manifest)} is {value!r}, which is not a {wanted}.\n"
        f"  fix: write a {wanted}"
    )


_WELL_KNOWN = kinds_by_name(well_known.ALL)
