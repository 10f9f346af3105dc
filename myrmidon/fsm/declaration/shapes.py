"""Manages, Reads: which objects of a kind a controller caches, and which of their changes wake it.

A plain kind in ``manages`` or ``reads`` means: all objects, whole, and every change counts.  The two
classes here say otherwise.  ``shapes_of`` resolves and checks the declarations of one controller; the
result has one ``KindShape`` for each kind, which the caches, the triggers and the generated roles follow.

- A kind has one cache for each controller.  The controller's own kind is cached as its options say;
  then ``manages`` decides, then ``reads``, then ``watches``.
- ``when`` belongs to a relation, not to a kind: the options filter the changes of the controller's own
  objects, ``Manages`` those of children, ``Reads`` those of objects that were read.
- All Secrets of a cluster are not cached by accident: a wide read of them has to be asked for.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, TypeAlias

from myrmidon.api.objects import kinds
from myrmidon.api.objects.refs import Kind
from myrmidon.api.requests.selectors import parse_selector
from myrmidon.api.typed.object_types import KindLike
from myrmidon.errors import DefinitionError, UsageError
from myrmidon.fsm.declaration.watches import Predicate, Watch, always


@dataclass(frozen=True, slots=True)
class Manages:
    """An entry of ``Controller.manages`` that limits what is cached, or which changes count.

    - ``kind``: the kind, as a ``Kind`` or a Resource class.
    - ``when``: a change of a child causes a pass over its parent only if it passes this predicate.
      New and deleted children always count.  Default: every change.
    - ``selector``: cache only objects with these labels; the server sends no others.  Outputs must
      carry the labels, otherwise the pass fails with ``NotSelected`` before it writes.  Default:
      empty, all objects.
    - ``namespaces``: cache and write only objects in these namespaces.  Takes precedence over
      ``ControllerOptions.namespaces`` for this kind.  Default: empty, those of the controller.
    """

    kind: KindLike
    when: Predicate = always
    selector: str = ""
    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reads:
    """An entry of ``Controller.reads`` that limits what is cached, or which changes count.

    - ``kind``: the kind, as a ``Kind`` or a Resource class.
    - ``cached``: False to cache nothing: ``ctx.get`` asks the server each time, ``ctx.list`` is an
      error, no change wakes, and the generated role has only ``get``.  Default: True.
    - ``metadata_only``: cache only ``metadata``; the server sends no more.  Default: False.
    - ``fields``: keep only these fields in the cache, such as ``("data", "spec.replicas")``, beside
      ``metadata``.  Default: empty, all fields.
    - ``selector``, ``field_selector``: cache only objects that match; the server sends no others.
      Objects that do not match do not exist for this controller.  Default: empty, all objects.
    - ``namespaces``: cache only objects in these namespaces.  Takes precedence over
      ``ControllerOptions.namespaces`` for this kind.  Default: empty, those of the controller.
    - ``when``: a change of an object that was read causes a pass only if it passes this predicate.
      New and deleted objects always count.  Default: every change.
    - ``wakes``: False if changes of what was read cause no passes.  Default: True.
    - ``everywhere``: True to cache all Secrets of the cluster, which is refused otherwise.  It has no
      effect for other kinds.  Default: False.

    A kind that the controller also manages, or controls, has one cache: then only ``when`` and
    ``wakes`` may be set.
    """

    kind: KindLike
    cached: bool = True
    metadata_only: bool = False
    fields: tuple[str, ...] = ()
    selector: str = ""
    field_selector: str = ""
    namespaces: tuple[str, ...] = ()
    when: Predicate = always
    wakes: bool = True
    everywhere: bool = False


Entry: TypeAlias = Manages | Reads


class KindShape(NamedTuple):
    """What a controller caches of one kind, and which changes of it cause passes."""

    namespaces: tuple[str, ...] = ()  # empty: those of the controller
    selector: str = ""
    field_selector: str = ""
    metadata_only: bool = False
    fields: tuple[str, ...] = ()
    cached: bool = True
    child_when: Predicate = always
    read_when: Predicate = always
    wakes: bool = True


def shapes_of(
    controller: str,
    own: Kind,
    manages: Mapping[Kind, Manages],
    reads: Mapping[Kind, Reads],
    watches: Iterable[tuple[Kind, Watch]],
    *,
    namespaces: Sequence[str] = (),
) -> dict[Kind, KindShape]:
    """Return the shape of every kind that a controller declares; raise for what cannot be.

    ``watches`` are those on the controller's own cluster, ``namespaces`` those of its options.
    """
    found = {own: KindShape()}
    for kind, managed in manages.items():
        _check(controller, "manages", kind, managed)
        if kind == own:
            _check_only(controller, "manages", kind, managed, ("when",))
        shape = KindShape(managed.namespaces, managed.selector, child_when=managed.when)
        found[kind] = shape
    watched: dict[Kind, list[Watch]] = {}
    for kind, watch in watches:
        watched.setdefault(kind, []).append(watch)
    for kind, read in reads.items():
        _check(controller, "reads", kind, read)
        known = found.get(kind)
        if known is not None:
            _check_only(controller, "reads", kind, read, ("when", "wakes", "everywhere"))
            found[kind] = known._replace(read_when=read.when, wakes=read.wakes)
            continue
        _check_read(controller, kind, read, is_watched=kind in watched)
        _check_secrets(controller, kind, read, namespaces)
        found[kind] = _shape_of_read(read)
    for kind, of_kind in watched.items():
        if kind not in found:
            found[kind] = _shape_of_watches(of_kind)
    return found


def _shape_of_read(read: Reads) -> KindShape:
    return KindShape(
        read.namespaces,
        read.selector,
        read.field_selector,
        read.metadata_only,
        read.fields,
        read.cached,
        read_when=read.when,
        wakes=read.wakes,
    )


def _shape_of_watches(watches: list[Watch]) -> KindShape:
    """Return the shape of a kind that is only watched: as narrow as all its watches together."""
    spaces = [watch.namespaces for watch in watches]
    namespaces = tuple(dict.fromkeys(each for some in spaces for each in some))
    selectors = {watch.selector for watch in watches}
    return KindShape(
        namespaces if all(spaces) else (),
        watches[0].selector if len(selectors) == 1 else "",
    )


def _check(controller: str, attribute: str, kind: Kind, entry: Entry) -> None:
    """Raise for a value that is wrong in itself."""
    where = f"{controller}.{attribute}: {type(entry).__name__}({kind.kind})"
    for name in ("namespaces", "fields"):
        value = getattr(entry, name, ())
        if isinstance(value, str) or not all(isinstance(each, str) and each for each in value):
            raise DefinitionError(
                f"{where} has {name}={value!r}, which is not a tuple of names.\n"
                f"  fix: write {name}=({value!r},)"
            )
    if entry.namespaces and not kind.namespaced:
        raise DefinitionError(
            f"{where} has namespaces, but the kind is cluster-scoped.\n  fix: drop namespaces"
        )
    if not isinstance(entry.when, Predicate):
        raise DefinitionError(
            f"{where} has when={entry.when!r}, which is not a predicate.\n"
            '  fix: write when=changed("data"), or when=Predicate(lambda before, after: ...)'
        )
    for name in ("selector", "field_selector"):
        try:
            parse_selector(getattr(entry, name, ""))
        except UsageError as error:
            raise DefinitionError(f"{where}, {name}: {error}") from None


def _check_only(
    controller: str, attribute: str, kind: Kind, entry: Entry, allowed: tuple[str, ...]
) -> None:
    """Raise if an entry limits a cache that another declaration decides about."""
    plain = type(entry)(entry.kind)
    others = [
        field.name
        for field in fields(entry)
        if field.name not in ("kind", *allowed)
        and getattr(entry, field.name) != getattr(plain, field.name)
    ]
    if others:
        raise DefinitionError(
            f"{controller}.{attribute}: {type(entry).__name__}({kind.kind}) has {', '.join(others)}, "
            "but the controller manages or controls this kind, and caches it once.\n"
            f"  fix: set it in manages or in ControllerOptions; only {', '.join(allowed)} may be set here"
        )


def _check_read(controller: str, kind: Kind, read: Reads, *, is_watched: bool) -> None:
    where = f"{controller}.reads: Reads({kind.kind})"
    if not read.cached:
        narrowing = ("metadata_only", "fields", "selector", "field_selector", "when", "everywhere")
        plain = Reads(read.kind)
        others = [name for name in narrowing if getattr(read, name) != getattr(plain, name)]
        if others:
            raise DefinitionError(
                f"{where} has cached=False and {', '.join(others)}, which is about the cache.\n"
                f"  fix: drop {', '.join(others)}, or cached=False"
            )
        if is_watched:
            raise DefinitionError(
                f"{where} has cached=False, but a Watch of the kind needs the cache.\n"
                "  fix: drop the Watch, or cached=False"
            )
    if read.metadata_only and read.fields:
        raise DefinitionError(
            f"{where} has metadata_only=True and fields.\n"
            "  fix: drop one of them; fields keeps metadata as well"
        )


def _check_secrets(controller: str, kind: Kind, read: Reads, namespaces: Sequence[str]) -> None:
    """Raise if all Secrets of the cluster would be cached without being asked for."""
    if (kind.group, kind.kind) != (kinds.SECRET.group, kinds.SECRET.kind) or not read.cached:
        return
    narrow = (
        read.selector or read.field_selector or read.namespaces or namespaces or read.metadata_only
    )
    if not narrow and not read.everywhere:
        raise DefinitionError(
            f"{controller}.reads lists Secret, which would cache every Secret of the cluster in memory, "
            "and the role could read them all.\n"
            "  fix: Reads(kinds.SECRET, cached=False) asks the server for each read;\n"
            '       Reads(kinds.SECRET, selector="app=shop"), field_selector= or namespaces= caches some;\n'
            "       Reads(kinds.SECRET, metadata_only=True) caches no data;\n"
            "       Reads(kinds.SECRET, everywhere=True) caches all of them"
        )
