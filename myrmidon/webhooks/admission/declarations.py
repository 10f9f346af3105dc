"""``@validates`` and ``@defaults``: declare a method that judges, or completes, a write.

The decorators only attach a ``MethodDeclaration`` to the method, which stays a plain method: a test
can call it.  What is beside ``on`` are the terms of the webhook through which the API server calls
the method.  Methods of a class with the same terms share one webhook, and so one request.

On a Resource class the object is ``self``; on an ``Admission`` class it is the first parameter:

    class WebApp(Resource[WebAppSpec, WebAppStatus], ...):
        @validates(on=("create", "update"))
        def image_is_pinned(self, request: AdmissionRequest) -> None: ...

    class PodRules(Admission[V1Pod]):
        @defaults
        def owner(self, pod: V1Pod) -> None: ...

The request, and then the ``AdmissionContext`` for reads, are passed if the method has parameters for
them.  Both kinds of methods may be ``async def``.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypeAlias, TypeVar, overload

from myrmidon.api.requests.selectors import parse_selector
from myrmidon.api.typed.object_types import KindLike, kind_of
from myrmidon.errors import DefinitionError, UsageError
from myrmidon.fsm.declaration.shapes import Reads

Operation = Literal["create", "update", "delete"]
Role = Literal["validate", "default"]
FailurePolicy = Literal["Fail", "Ignore"]
OPERATIONS: tuple[Operation, ...] = ("create", "update", "delete")
TIMEOUT = timedelta(seconds=5)
_SECONDS_MIN, _SECONDS_MAX = 1, 30  # what the API server accepts
_CONDITION_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")

_Method = TypeVar("_Method", bound=Callable[..., Any])
_MARK = "__myrmidon_admission__"


@dataclass(frozen=True, slots=True)
class WebhookTerms:
    """When and how the API server calls a webhook."""

    match_conditions: tuple[tuple[str, str], ...] = ()
    namespace_selector: str = ""
    object_selector: str = ""
    failure_policy: FailurePolicy = "Fail"
    timeout_seconds: int = 5


@dataclass(frozen=True, slots=True)
class MethodDeclaration:
    """The arguments of one ``@validates`` or ``@defaults``."""

    role: Role
    on: tuple[Operation, ...]
    terms: WebhookTerms
    reads: tuple[Reads, ...]


Conditions: TypeAlias = Mapping[str, str]
Readable: TypeAlias = KindLike | Reads


@overload
def validates(method: _Method, /) -> _Method: ...


@overload
def validates(
    *,
    on: Iterable[Operation] = ("create", "update"),
    match_conditions: Conditions | None = None,
    namespace_selector: str = "",
    object_selector: str = "",
    failure_policy: FailurePolicy = "Fail",
    timeout: timedelta = TIMEOUT,
    reads: Iterable[Readable] = (),
) -> Callable[[_Method], _Method]: ...


def validates(
    method: _Method | None = None,
    /,
    *,
    on: Iterable[Operation] = ("create", "update"),
    match_conditions: Conditions | None = None,
    namespace_selector: str = "",
    object_selector: str = "",
    failure_policy: FailurePolicy = "Fail",
    timeout: timedelta = TIMEOUT,
    reads: Iterable[Readable] = (),
) -> Any:
    """Declare a method that may refuse a write.  ``@validates`` alone has the defaults.

    It refuses by ``request.refuse(field, message)`` or by raising; returning allows the write.  An
    update of an object that is being deleted is not validated: its finalizers must come off.

    - ``on``: the operations; ``("create", "update")`` by default.  For a delete, the object is the
      one that is being deleted.
    - ``match_conditions``: CEL by name, all of which must be true for the server to call the webhook,
      such as ``{"not-by-us": "request.userInfo.username != 'system:serviceaccount:shop:webapps'"}``.
    - ``namespace_selector``, ``object_selector``: labels, as for kubectl, of the namespace and of the
      object, old or new; all by default.
    - ``failure_policy``: what happens when the webhook gives no answer, and after ``timeout``:
      ``"Fail"`` (default) refuses the write, ``"Ignore"`` allows it.
    - ``timeout``: how long the server waits for the webhook, 1 to 30 whole seconds; 5 by default.
    - ``reads``: kinds that the method reads through its context, as in ``Controller.reads``.  A
      method of a Resource class may always read its own kind.
    """
    terms = _terms(
        "@validates",
        conditions=match_conditions or {},
        namespace_selector=namespace_selector,
        object_selector=object_selector,
        failure_policy=failure_policy,
        timeout=timeout,
    )
    declared = MethodDeclaration("validate", _operations("@validates", on), terms, _reads(reads))
    if method is not None:
        return _marked(method, declared)
    return lambda each: _marked(each, declared)


@overload
def defaults(method: _Method, /) -> _Method: ...


@overload
def defaults(
    *,
    on: Iterable[Operation] = ("create", "update"),
    match_conditions: Conditions | None = None,
    namespace_selector: str = "",
    object_selector: str = "",
    failure_policy: FailurePolicy = "Fail",
    timeout: timedelta = TIMEOUT,
    reads: Iterable[Readable] = (),
) -> Callable[[_Method], _Method]: ...


def defaults(
    method: _Method | None = None,
    /,
    *,
    on: Iterable[Operation] = ("create", "update"),
    match_conditions: Conditions | None = None,
    namespace_selector: str = "",
    object_selector: str = "",
    failure_policy: FailurePolicy = "Fail",
    timeout: timedelta = TIMEOUT,
    reads: Iterable[Readable] = (),
) -> Any:
    """Declare a method that completes an object before it is validated and stored.

    It changes the object that it gets, or returns a merge patch.  It must not undo itself: called
    with its own result, it changes nothing.  A default that is the same for all objects belongs into
    the model, from where it goes into the CRD.  The arguments are those of ``validates``.
    """
    terms = _terms(
        "@defaults",
        conditions=match_conditions or {},
        namespace_selector=namespace_selector,
        object_selector=object_selector,
        failure_policy=failure_policy,
        timeout=timeout,
    )
    declared = MethodDeclaration("default", _operations("@defaults", on), terms, _reads(reads))
    if "delete" in declared.on:
        raise DefinitionError(
            "@defaults has on='delete', but a delete has no object to complete.\n"
            '  fix: use "create" and "update"'
        )
    if method is not None:
        return _marked(method, declared)
    return lambda found: _marked(found, declared)


def declaration_of(member: Any) -> MethodDeclaration | None:
    """Return the declaration of a method; None if it has none."""
    found = getattr(member, _MARK, None)
    return found if isinstance(found, MethodDeclaration) else None


def positional(method: Callable[..., Any]) -> int:
    """Return the number of arguments that a method can be called with by position, self included."""
    parameters = inspect.signature(method).parameters.values()
    return sum(
        each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) for each in parameters
    )


def _marked(method: _Method, declared: MethodDeclaration) -> _Method:
    decorator = "@validates" if declared.role == "validate" else "@defaults"
    if not inspect.isfunction(method):
        raise DefinitionError(
            f"{decorator} stands on {method!r}, which is not a method.\n"
            f"  fix: write {decorator}(...) directly above `def`"
        )
    if inspect.isgeneratorfunction(method) or inspect.isasyncgenfunction(method):
        raise DefinitionError(
            f"{method.__qualname__} is a generator, and the framework calls it once.\n"
            "  fix: report each problem with request.refuse(field, message)"
        )
    setattr(method, _MARK, declared)
    return method


def _operations(decorator: str, on: Iterable[Operation]) -> tuple[Operation, ...]:
    given = (on,) if isinstance(on, str) else tuple(on)
    wrong = [each for each in given if each not in OPERATIONS]
    if wrong or not given:
        raise DefinitionError(
            f"{decorator} has on={on!r}, which is not a choice of operations.\n"
            f"  fix: use some of {', '.join(map(repr, OPERATIONS))}"
        )
    return tuple(each for each in OPERATIONS if each in given)


def _reads(reads: Iterable[Readable]) -> tuple[Reads, ...]:
    alone = isinstance(reads, type | Reads) or kind_of(reads) is not None  # a Kind is a tuple
    entries: tuple[Any, ...] = (reads,) if alone else tuple(reads)
    made = tuple(each if isinstance(each, Reads) else Reads(each) for each in entries)
    for read in made:
        if kind_of(read.kind) is None:
            raise DefinitionError(
                f"reads= lists {read.kind!r}, which is not a kind.\n"
                "  fix: use a constant of myrmidon.kinds, a Resource class or a kubernetes-asyncio model"
            )
    return made


def _terms(
    decorator: str,
    *,
    conditions: Conditions,
    namespace_selector: str,
    object_selector: str,
    failure_policy: FailurePolicy,
    timeout: timedelta,
) -> WebhookTerms:
    for name, expression in conditions.items():
        if not _CONDITION_NAME.fullmatch(name) or not expression.strip():
            raise DefinitionError(
                f"{decorator} has the match condition {name!r}: {expression!r}.\n"
                "  fix: give each CEL expression a name of letters, digits and dashes"
            )
    for text in (namespace_selector, object_selector):
        try:
            parse_selector(text)
        except UsageError as error:
            raise DefinitionError(f"{decorator}: {error}") from None
    if failure_policy not in ("Fail", "Ignore"):
        raise DefinitionError(
            f"{decorator} has failure_policy={failure_policy!r}.\n"
            '  fix: use "Fail" to refuse writes while the webhook is down, or "Ignore" to allow them'
        )
    seconds = timeout.total_seconds()
    if not seconds.is_integer() or not _SECONDS_MIN <= seconds <= _SECONDS_MAX:
        raise DefinitionError(
            f"{decorator} has timeout={timeout!r}, which the API server does not accept.\n"
            f"  fix: use {_SECONDS_MIN} to {_SECONDS_MAX} whole seconds"
        )
    return WebhookTerms(
        tuple(conditions.items()),
        namespace_selector,
        object_selector,
        failure_policy,
        int(seconds),
    )
