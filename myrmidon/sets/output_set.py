"""OutputSet: the objects that one state applies and deletes.

A state calls ``out.apply`` and ``out.delete``; nothing is sent then.  The set records one ``Apply``
or ``Delete`` per object, after it has checked that the controller manages the kind and that the
object has a name and a namespace.  When the state has returned, the framework plans a request for
each (``sets.planning``) and sends those that are needed.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from myrmidon.api import kinds as well_known
from myrmidon.api.managed_fields import field_manager
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
    """The object should exist and have at least the fields of the manifest."""

    ref: ObjectRef
    manifest: Json
    options: ApplyOptions = DEFAULT
    author: str = ""  # ``controller.state``: the state that declared it


class Delete(NamedTuple):
    """The object should be gone; with ``foreground`` it goes after everything that it owns."""

    ref: ObjectRef
    foreground: bool = False
    adopt: bool = False  # also if it names no parent and this controller did not write it
    author: str = ""


Output: TypeAlias = Apply | Delete


def manager_of(output: Output) -> str:
    """Return the output's field manager: ``ApplyOptions.field_manager``, or the controller's."""
    chosen = output.options.field_manager if isinstance(output, Apply) else None
    return field_manager(chosen or output.author.partition(".")[0] or "myrmidon")


class OutputSet:
    """The objects that a state applies and deletes, in order.

    There is one entry per object: the last ``apply`` or ``delete`` replaces an earlier one and its
    options.  A namespaced object without a namespace gets the parent's.
    """

    __slots__ = ("_all", "_author", "_class_name", "_intentions", "_kinds", "_namespace", "_state")

    def __init__(
        self,
        kinds: Iterable[Kind] | None = None,
        *,
        namespace: str = "",
        controller: str = "",
        state: str = "",
        class_name: str = "",
    ) -> None:
        self._all = kinds
        self._kinds = _WELL_KNOWN if kinds is None else kinds_by_name(tuple(kinds))
        self._namespace, self._state = namespace, state
        self._author = f"{controller}.{state}" if controller else state
        self._class_name = class_name or controller or "the controller"
        self._intentions: dict[ObjectRef, Output] = {}

    def apply(self, obj: Any, **options: Any) -> None:
        """Declare that the object should exist with these fields.

        ``obj`` is a manifest, a Resource or a kubernetes-asyncio model.  The options are those of
        ``ApplyOptions``.
        """
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
        adopt: bool = False,
        cluster: str = "",
    ) -> None:
        """Declare that an object should be gone.

        - ``what``: an object, an ``ObjectRef``, or a kind together with ``name`` and ``namespace``.
        - ``foreground``: the object goes after everything that it owns.  Default: False, the
          garbage collector deletes what it owns afterwards.
        - ``adopt``: delete the object even if it names no parent and this controller did not write
          it.  Default: False, the delete is refused with ``AdoptionRefused``.
        - ``cluster``: the name of the remote cluster of the object.  Default: the controller's own,
          or that of the kind or reference.
        """
        ref = self._ref_to_delete(what, name, namespace, cluster)
        self._intend(Delete(ref, foreground, adopt, self._author))

    def __iter__(self) -> Iterator[Output]:
        return iter(self._intentions.values())

    def __len__(self) -> int:
        return len(self._intentions)

    def __contains__(self, ref: object) -> bool:
        return ref in self._intentions

    def applied(self) -> list[Apply]:
        """Return the objects that should exist, in order."""
        return [output for output in self if isinstance(output, Apply)]

    def deleted(self) -> list[Delete]:
        """Return the objects that should be gone, in order."""
        return [output for output in self if isinstance(output, Delete)]

    def __repr__(self) -> str:
        words = (f"{type(output).__name__.lower()} {output.ref}" for output in self)
        return f"OutputSet({', '.join(words)})"

    # ------------------------------------------------------------------------ inside

    def _put(self, obj: Any, options: ApplyOptions) -> None:
        manifest = manifest_of(obj)
        ref = self._ref_of(manifest, options.cluster)
        if ref.namespace:
            manifest["metadata"]["namespace"] = ref.namespace
        else:  # the server drops it, so the object would never compare as equal
            manifest["metadata"].pop("namespace", None)
        self._intend(Apply(ref, manifest, options, self._author))

    def _intend(self, output: Output) -> None:
        # Remove an earlier entry first, so that the new one is also last in the order.
        self._intentions.pop(output.ref, None)
        self._intentions[output.ref] = output

    def _ref_of(self, manifest: Mapping[str, Any], cluster: str = "") -> ObjectRef:
        kinds = self._kinds if not cluster else self._on(cluster)
        try:
            kind = kinds[manifest["apiVersion"], manifest["kind"]]
        except (KeyError, TypeError):  # TypeError: a list or a map has no hash
            raise self._unknown(manifest, cluster) from None
        meta = manifest.get("metadata") or {}
        if type(meta) is not dict:
            raise _not_a("metadata", "dict", meta, manifest)
        name, namespace = meta.get("name"), meta.get("namespace")
        if type(name) is not str or not name or type(namespace) not in _NAMESPACES:
            name = _checked_name(manifest, meta)
        return self._located(kind, name, namespace)

    def _unknown(self, manifest: Mapping[str, Any], cluster: str) -> ProgrammingError:
        """Return the error for an object of a kind that the controller does not manage."""
        for field in ("apiVersion", "kind"):
            value = manifest.get(field)
            if not value:
                return UnidentifiedObjectError(field, describe(manifest))
            if not isinstance(value, str):
                return _not_a(field, "string", value, manifest)
        return self._undeclared(manifest["kind"], manifest["apiVersion"], cluster)

    def _ref_to_delete(
        self, what: Any, name: str | None, namespace: str | None, cluster: str
    ) -> ObjectRef:
        # The order matters: references and kinds are tuples, resource classes are types.
        if isinstance(what, ObjectRef):
            return self._located(self._declared(what.kind, cluster), what.name, what.namespace)
        if isinstance(what, type):
            what = what.KIND  # type: ignore[attr-defined]  # a Resource class
        if isinstance(what, Kind):
            return self._located(self._declared(what, cluster), name or "", namespace)
        return self._ref_of(manifest_of(what), cluster)

    def _declared(self, kind: Kind, cluster: str) -> Kind:
        kind = kind.at(cluster) if cluster else kind
        known = self._on(kind.cluster) if kind.cluster else self._kinds
        if kind not in known.values():
            raise self._undeclared(kind.kind, kind.api_version, kind.cluster)
        return kind

    def _on(self, cluster: str) -> Mapping[tuple[str, str], Kind]:
        """Return the kinds that the controller manages on a remote cluster."""
        return kinds_by_name(tuple(self._all or ()), cluster)

    def _undeclared(self, kind: str, api_version: str, cluster: str) -> UndeclaredOutputError:
        where = f" on the cluster {cluster!r}" if cluster else ""
        return UndeclaredOutputError(
            self._class_name,
            self._state or "state",
            f"{kind} ({api_version}){where}",
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


def _checked_name(manifest: Mapping[str, Any], meta: Json) -> str:
    """Return the name in metadata that is not just two strings; raise if it cannot be used."""
    name: str = meta.get("name") or ""
    if not name and meta.get("generateName"):
        raise GeneratedNameError(f"{manifest['kind']} {meta['generateName']}*")
    for field in ("name", "namespace"):
        value = meta.get(field)
        if value and not isinstance(value, str):
            raise _not_a(f"metadata.{field}", "string", value, manifest)
    return name


def _not_a(path: str, wanted: str, value: Any, manifest: Mapping[str, Any]) -> OutputError:
    return OutputError(
        f"{path} of {describe(manifest)} is {value!r}, which is not a {wanted}.\n"
        f"  fix: write a {wanted}"
    )


_NAMESPACES = (str, type(None))  # the types that a namespace may have
_WELL_KNOWN = kinds_by_name(well_known.ALL)
