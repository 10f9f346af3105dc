"""What the code of a controller can ask for: read in its source, without running it.

Some rights follow from no declaration but from how outputs are written: ``as_update=True`` needs
``update``, ``out.delete`` needs ``delete``.  An option has to be named where it is used, so code that
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
from myrmidon.fsm.external import External

_DYNAMIC = frozenset(("import_module", "__import__", "exec", "eval"))
_APPLY = ("apply", "apply_all")
_DEFAULTS: Mapping[str, Any] = {
    "as_update": False,
    "create_only": False,
    "recreate": False,
    "owner_refs": True,
    "owner": None,
}
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(slots=True)
class Usage:
    """What may be asked for; every field errs on the side of more."""

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

    def deletes(self, kind: Kind) -> bool:
        """Whether objects of a managed kind may have to be deleted."""
        return self.deleted is None or kind in self.deleted


def usage_of(controller: type[Controller[Any]]) -> Usage:
    """Read the code of a controller."""
    seen = _Seen()
    try:
        for name, tree in _modules(controller):
            _read(seen, tree, vars(sys.modules[name]) if name in sys.modules else {}, controller)
    except _OutOfSightError:
        return Usage()
    if controller.managed_kinds and not seen.applies:
        return Usage()
    said = {name for name in _DEFAULTS if name in seen.keywords}
    if any(_is_spread(apply) for apply in seen.applies):
        said |= seen.strings & set(_DEFAULTS)
    tracks = bool(said & {"owner_refs", "owner"})
    any_kind = seen.deletes_any or tracks or "recreate" in said or controller.options.prune
    return Usage(
        updates="as_update" in said,
        patches=not all(_has(one, "create_only", "as_update", value=True) for one in seen.applies),
        owns=not all(_has(one, "owner_refs", value=False) for one in seen.applies),
        tracks=tracks,
        reads_live="live" in seen.names,
        deleted=None if any_kind else frozenset(seen.deletes),
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
        elif isinstance(node, ast.Attribute) and node.attr == "delete":
            _note_delete(seen, called.get(id(node)), known, local)


def _note_words(seen: _Seen, node: ast.AST) -> None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            seen.names.add(name)
            if name in _DYNAMIC:
                raise _OutOfSightError
        case ast.Constant(value=str(text)):
            seen.strings.add(text)
        case ast.keyword(arg=str(name)) if not _is_default(node):
            seen.keywords.add(name)
        case ast.Call(func=ast.Name(id="getattr"), args=[_, asked, *_]):
            if not isinstance(asked, ast.Constant) or asked.value in (*_APPLY, "delete", "live"):
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
    named = [keyword.value for keyword in call.keywords if keyword.arg in ("what", None)]
    for what in [*call.args[:1], *named]:
        if isinstance(what, ast.Constant):
            continue  # the delete of another object: an output is never a constant
        value = _value(what, known, local)
        kind = value.kind if isinstance(value, ObjectRef) else kind_of(value)
        if kind is None:
            seen.deletes_any = True
        else:
            seen.deletes.add(kind)


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
