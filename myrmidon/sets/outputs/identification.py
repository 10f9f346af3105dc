"""Identification: which object a state means, checked against the kinds that its controller manages.

A state names an object by a manifest, a Resource, a model of kubernetes-asyncio, an ``ObjectRef``, or
a kind together with a name.  The result is an ``ObjectRef`` with a declared kind, a name, and a
namespace if the kind has one; anything else is an error that names the field.

A kind on a remote cluster is declared and looked up apart from the same kind at home: an object must
never be written to another cluster than the one that the state named.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from myrmidon.api.objects import kinds as well_known
from myrmidon.api.objects.accessors import describe
from myrmidon.api.objects.refs import Kind, ObjectRef, kinds_by_name
from myrmidon.api.typed.object_types import kind_of
from myrmidon.errors import (
    GeneratedNameError,
    OutputError,
    ProgrammingError,
    UndeclaredOutputError,
    UnidentifiedObjectError,
)
from myrmidon.sets.outputs.manifests import manifest_of

WELL_KNOWN = kinds_by_name(well_known.ALL)
"""The kinds of an ``OutputSet`` without a controller, by (apiVersion, kind)."""


class Declarer(NamedTuple):
    """A state that declares outputs, and the kinds that its controller manages.

    It is the same in every pass, so the framework makes it once.
    """

    kinds: Mapping[tuple[str, str], Kind]  # of the home cluster, by (apiVersion, kind)
    managed: tuple[Kind, ...]  # on all clusters
    class_name: str  # of the controller, for errors
    state: str
    author: str  # ``controller.state``, the author of the outputs


def declarer_of(
    kinds: Iterable[Kind] | None, *, controller: str = "", state: str = "", class_name: str = ""
) -> Declarer:
    """Return the declarer for a state of a controller; without ``kinds`` it manages the well-known ones."""
    managed = () if kinds is None else tuple(kinds)
    return Declarer(
        WELL_KNOWN if kinds is None else kinds_by_name(managed),
        managed,
        class_name or controller or "the controller",
        state,
        f"{controller}.{state}" if controller else state,
    )


_ALL = "out.delete_all(kind) is for all children of a kind"


class Identification:
    """The part of ``OutputSet`` that turns what a state names into a reference."""

    __slots__ = ("_by", "_namespace")

    _by: Declarer
    _namespace: str

    def _ref_of(self, manifest: Mapping[str, Any], cluster: str = "") -> ObjectRef:
        kinds = self._by.kinds if not cluster else self._on(cluster)
        try:
            kind = kinds[manifest["apiVersion"], manifest["kind"]]
        except (KeyError, TypeError):  # TypeError: a list or a map has no hash
            raise self._unknown(manifest, cluster) from None
        meta = manifest.get("metadata") or {}
        if type(meta) is not dict:
            raise _not_a("metadata", "dict", meta, manifest)
        name, namespace = meta.get("name"), meta.get("namespace")
        if type(name) is not str or not name or not (namespace is None or type(namespace) is str):
            name = _checked_name(manifest, meta)
        return self._located(kind, name, namespace)

    def _unknown(self, manifest: Mapping[str, Any], cluster: str) -> ProgrammingError:
        """Return the error for an object of a kind that the controller does not manage."""
        problem = _untyped(manifest)
        return problem or self._undeclared(manifest["kind"], manifest["apiVersion"], cluster)

    def _ref_to(
        self, what: Any, name: str | None, namespace: str | None, cluster: str
    ) -> ObjectRef:
        """Return the reference of an object, given as one of the forms that ``delete`` takes."""
        if isinstance(what, ObjectRef):
            return self._located(self._declared(what.kind, cluster), what.name, what.namespace)
        kind = kind_of(what)
        if kind is not None:
            if not name:
                raise UnidentifiedObjectError(
                    "metadata.name", f"a {kind.kind}", "pass its name after the kind; " + _ALL
                )
            return self._located(self._declared(kind, cluster), name, namespace)
        return self._ref_of(manifest_of(what), cluster)

    def _kind_named(self, what: Any, cluster: str) -> Kind:
        kind = kind_of(what)
        if kind is None:
            raise self._undeclared(repr(what), "not a kind", cluster)
        return self._declared(kind, cluster)

    def _declared(self, kind: Kind, cluster: str) -> Kind:
        kind = kind.at(cluster) if cluster else kind
        known = self._on(kind.cluster) if kind.cluster else self._by.kinds
        if kind not in known.values():
            raise self._undeclared(kind.kind, kind.api_version, kind.cluster)
        return kind

    def _on(self, cluster: str) -> Mapping[tuple[str, str], Kind]:
        """Return the kinds that the controller manages on a remote cluster."""
        return kinds_by_name(self._by.managed, cluster)

    def _undeclared(self, kind: str, api_version: str, cluster: str) -> UndeclaredOutputError:
        where = f" on the cluster {cluster!r}" if cluster else ""
        return UndeclaredOutputError(
            self._by.class_name,
            self._by.state or "state",
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


def check_identified(manifest: Mapping[str, Any]) -> None:
    """Raise if a manifest lacks apiVersion, kind or metadata.name, or one of them is not a text."""
    problem = _untyped(manifest)
    if problem is not None:
        raise problem
    meta = manifest.get("metadata") or {}
    if not isinstance(meta, Mapping):
        raise _not_a("metadata", "dict", meta, manifest)
    if not _checked_name(manifest, meta):
        raise UnidentifiedObjectError("metadata.name", describe(manifest))


def _untyped(manifest: Mapping[str, Any]) -> OutputError | None:
    """Return the error for a manifest whose apiVersion or kind is missing or not a text."""
    for field in ("apiVersion", "kind"):
        value = manifest.get(field)
        if not value:
            return UnidentifiedObjectError(field, describe(manifest))
        if not isinstance(value, str):
            return _not_a(field, "string", value, manifest)
    return None


def _checked_name(manifest: Mapping[str, Any], meta: Mapping[str, Any]) -> str:
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
