"""What the code of a controller can ask for: read in its source, without running it.

Some rights follow from no declaration but from how outputs are written: ``as_update=True`` needs
``update``, ``out.delete`` needs ``delete``, ``out.scale`` needs a subresource.  An option has to be named where it is used, so code that
never names it never uses it.  What is read: the modules of the controller's classes and what they
import of the same program, other controllers in them excepted.

Where reading cannot tell, everything is taken to be used: too large a role is a nuisance, too small a
one is an outage.  That is so for source that is not to be had, for names made at run time, and for a
controller that manages kinds and in whose code nothing is applied.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec, resolve_name
from typing import Any

from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.typed.object_types import kind_of
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.external.resource import External

_DYNAMIC = frozenset(("import_module", "__import__", "exec", "eval"))
_APPLY = ("apply", "apply_all")
_DELETE = ("delete", "delete_all")
_EDIT = ("patch", "scale", "release")
_OWN = ("label_self", "annotate_self")
_DELETE_OWN = "delete_self"
_OUTPUTS = frozenset((*_APPLY, *_DELETE, *_EDIT, *_OWN, _DELETE_OWN))
_SUBRESOURCES = ("status", "scale")
# Ready-made parts of the framework that delete children of any kind, and that apply them.
_DELETING_STATES = frozenset(
    ("delete_children_foreground", "delete_children_in_reverse", "rolling")
)
_APPLYING_HELPERS = frozenset(("rolling", "adopt_by_selector"))
_DEFAULTS: Mapping[str, Any] = {
    "as_update": False,
    "create_only": False,
    "recreate": False,
    "owner_refs": True,
    "owner": None,
    "subresource": "",
}
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(slots=True)
class Usage:
    """What may be asked for; every field errs on the side of more."""

    creates: bool = True
    """Some output creates an object."""
    updates: bool = True
    """Some output replaces the whole object."""
    patches: bool = True
    """Some output changes a part of an object."""
    owns: bool = True
    """Some output gets a controller reference to its parent."""
    tracks: bool = True
    """Some output gets none, so that we delete it ourselves."""
    reads_live: bool = True
    """Objects are read from the server by name."""
    deleted: frozenset[Kind] | None = None
    """The kinds of which objects are deleted; None for any."""
    labels_self: bool = True
    """Labels or annotations of the object itself are written."""
    deletes_self: bool = True
    """The object itself is deleted."""
    subresources: Mapping[str, frozenset[Kind] | None] = field(
        default_factory=lambda: dict.fromkeys(_SUBRESOURCES)
    )
    """The subresources that are written, with the kinds; None for any managed kind."""

    def deletes(self, kind: Kind) -> bool:
        """Whether objects of a managed kind may have to be deleted."""
        return self.deleted is None or kind in self.deleted

    def subresources_of(self, kind: Kind) -> list[str]:
        """Return the subresources of a managed kind that may have to be written."""
        return [name for name, kinds in self.subresources.items() if kinds is None or kind in kinds]


def usage_of(controller: type[Controller[Any]]) -> Usage:
    """Read the code of a controller."""
    seen = _Seen()
    try:
        for name, tree in _modules(controller):
            _read(seen, tree, vars(sys.modules[name]) if name in sys.modules else {}, controller)
    except _OutOfSightError:
        return Usage()
    if controller.managed_kinds and not seen.applies and not seen.edits:
        return Usage()
    said = {name for name in _DEFAULTS if name in seen.keywords}
    if any(_is_spread(apply) for apply in seen.applies):
        said |= seen.strings & set(_DEFAULTS)
    tracks = bool(said & {"owner_refs", "owner"})
    any_kind = seen.deletes_any or tracks or "recreate" in said or controller.options.prune
    if "subresource" in said:
        seen.subresources |= {(name, None) for name in seen.strings & set(_SUBRESOURCES)}
    return Usage(
        creates=bool(seen.applies),
        updates="as_update" in said,
        patches=bool(seen.edits)
        or controller.options.policy == "orphan"
        or not all(_has(one, "create_only", "as_update", value=True) for one in seen.applies),
        owns=not all(_has(one, "owner_refs", value=False) for one in seen.applies),
        tracks=tracks,
        reads_live="live" in seen.names,
        deleted=None if any_kind else frozenset(seen.deletes),
        labels_self=bool(seen.names & set(_OWN)),
        deletes_self=_DELETE_OWN in seen.names,
        subresources=_by_name(seen.subresources),
    )


# ---------------------------------------------------------------------------- one module


class _OutOfSightError(Exception):
    """There is code that reading cannot see."""


@dataclass(slots=True)
class _Seen:
    names: set[str] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)
    keywords: set[str] = field(default_factory=set)
    """Options that were given another value than they have by default."""
    applies: list[ast.Call | None] = field(default_factory=list)
    """Calls of ``apply``; None for one that is not called where it is named."""
    edits: set[Kind] = field(default_factory=set)
    """The kinds of which objects are patched, scaled or released."""
    subresources: set[tuple[str, Kind | None]] = field(default_factory=set)
    """Subresources that are written, with the kind if it is known."""
    deletes: set[Kind] = field(default_factory=set)
    deletes_any: bool = False


def _read(
    seen: _Seen, tree: ast.Module, known: Mapping[str, Any], controller: type[Controller[Any]]
) -> None:
    nodes = list(_nodes(tree, known, controller))
    local = _local_names(nodes)
    called = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        _note_words(seen, node)
        if isinstance(node, ast.Attribute) and node.attr in _APPLY:
            seen.applies.append(called.get(id(node)))
        elif isinstance(node, ast.Attribute) and node.attr in _DELETE:
            _note_delete(seen, called.get(id(node)), known, local)
        elif isinstance(node, ast.Attribute) and node.attr in _EDIT:
            _note_edit(seen, node.attr, called.get(id(node)), known, local)


def _note_words(seen: _Seen, node: ast.AST) -> None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            seen.names.add(name)
            if name in _DYNAMIC:
                raise _OutOfSightError
            seen.deletes_any = seen.deletes_any or name in _DELETING_STATES
            if name in _APPLYING_HELPERS:
                seen.applies.append(None)
        case ast.Constant(value=str(text)):
            seen.strings.add(text)
        case ast.keyword(arg=str(name)) if not _is_default(node):
            seen.keywords.add(name)
        case ast.Call(func=ast.Name(id="getattr"), args=[_, asked, *_]):
            if not isinstance(asked, ast.Constant) or asked.value in {*_OUTPUTS, "live"}:
                raise _OutOfSightError
        case _:
            pass


def _nodes(
    node: ast.AST, known: Mapping[str, Any], controller: type[Controller[Any]]
) -> Iterator[ast.AST]:
    """Yield all nodes, except those of other controllers, and of External classes.

    The ``delete`` of an External is a call of another system, not an output.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(node, ast.Module) and isinstance(child, ast.ClassDef):
            made = known.get(child.name)
            other = isinstance(made, type) and issubclass(made, Controller)
            if other and made not in controller.__mro__:
                continue
            if isinstance(made, type) and issubclass(made, External):
                continue
        yield child
        yield from _nodes(child, known, controller)


def _local_names(nodes: list[ast.AST]) -> set[str]:
    """Return names that a function of the module binds locally, with another meaning than in the module."""
    names = {node.arg for node in nodes if isinstance(node, ast.arg)}
    for function in nodes:
        if isinstance(function, _Function):
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names.add(node.id)
    return names


def _note_delete(
    seen: _Seen, call: ast.Call | None, known: Mapping[str, Any], local: set[str]
) -> None:
    """Note of which kind a ``delete`` is, if its first argument says so."""
    if call is None:
        seen.deletes_any = True
        return
    for kind in _kinds_named(call, known, local):
        if kind is None:
            seen.deletes_any = True
        else:
            seen.deletes.add(kind)


def _note_edit(
    seen: _Seen, name: str, call: ast.Call | None, known: Mapping[str, Any], local: set[str]
) -> None:
    """Note of which kind, and of which subresource, a patch or a scale is.

    A call that names no kind is that of another object (``mock.patch``), or one of which only a run
    could tell the kind: every managed kind may be patched anyway, unless nothing else is.
    """
    for kind in [None] if call is None else _kinds_named(call, known, local):
        if kind is not None:
            seen.edits.add(kind)
        if name == "scale":
            seen.subresources.add((name, kind))


def _by_name(found: set[tuple[str, Kind | None]]) -> dict[str, frozenset[Kind] | None]:
    by_name: dict[str, frozenset[Kind] | None] = {}
    for name in sorted({name for name, _ in found}):
        kinds = [kind for one, kind in found if one == name]
        by_name[name] = None if None in kinds else frozenset(kind for kind in kinds if kind)
    return by_name


def _kinds_named(
    call: ast.Call, known: Mapping[str, Any], local: set[str]
) -> Iterator[Kind | None]:
    """Yield the kind that the first argument of a call names; None if only a run could tell."""
    named = [keyword.value for keyword in call.keywords if keyword.arg in ("what", "kind", None)]
    for what in [*call.args[:1], *named]:
        if isinstance(what, ast.Constant):
            continue  # the method of another object: an output is never a constant
        value = _value(what, known, local)
        yield value.kind if isinstance(value, ObjectRef) else kind_of(value)


def _value(node: ast.expr, known: Mapping[str, Any], local: set[str]) -> Any:
    """What a dotted name of the module stands for; None where it cannot be told."""
    if isinstance(node, ast.Attribute):
        return getattr(_value(node.value, known, local), node.attr, None)
    if isinstance(node, ast.Name) and node.id not in local:
        return known.get(node.id)
    return None


def _is_default(keyword: ast.keyword) -> bool:
    name, value = keyword.arg or "", keyword.value
    return name in _DEFAULTS and isinstance(value, ast.Constant) and value.value is _DEFAULTS[name]


def _has(call: ast.Call | None, *options: str, value: bool) -> bool:
    """Whether a call says, in so many words, that one of these options has a value."""
    return call is not None and any(
        keyword.arg in options
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is value
        for keyword in call.keywords
    )


def _is_spread(call: ast.Call | None) -> bool:
    return call is None or any(keyword.arg is None for keyword in call.keywords)


# --------------------------------------------------------------------------- all modules


def _modules(controller: type[Controller[Any]]) -> Iterator[tuple[str, ast.Module]]:
    """The modules of a controller's classes, and what they import of the same program."""
    bases = [base for base in controller.__mro__ if base is not Controller]
    waiting = [base.__module__ for base in bases if not _is_library(base.__module__)]
    waiting += [base.__module__ for base in bases if issubclass(base, Controller)]
    own = {name.partition(".")[0] for name in waiting}
    done: set[str] = set()
    needed = set(waiting)
    while waiting:
        name = waiting.pop()
        if name in done:
            continue
        done.add(name)
        source = _source(name)
        if source is None and name in needed:
            raise _OutOfSightError
        if source is None or not (name.partition(".")[0] in own or "myrmidon" in source):
            continue  # another library, which knows nothing of outputs
        tree = ast.parse(source)
        yield name, tree
        waiting += [one for one in _imported(tree, name) if not _is_library(one)]


def _is_library(name: str) -> bool:
    top = name.partition(".")[0]
    return top in sys.stdlib_module_names or top == "myrmidon"


def _source(name: str) -> str | None:
    module = sys.modules.get(name)
    try:
        loader: Any = find_spec(name).loader if module is None else module.__loader__  # type: ignore[union-attr]
        source: str | None = loader.get_source(name)
    except (ImportError, ValueError, AttributeError):
        return None  # it is not there, or it is not Python
    return source


def _imported(tree: ast.Module, name: str) -> Iterator[str]:
    module = sys.modules.get(name)
    package = getattr(module, "__package__", None) or name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            dotted = "." * node.level + (node.module or "")
            source = resolve_name(dotted, package) if node.level else dotted
            yield source
            yield from (f"{source}.{alias.name}" for alias in node.names)
