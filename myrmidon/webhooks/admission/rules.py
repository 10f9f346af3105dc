"""``Admission``: the base class of validators and defaults that stand beside a kind.

    class PodRules(Admission[V1Pod]):
        @validates(on=("create",))
        def has_owner(self, pod: V1Pod, request: AdmissionRequest[V1Pod]) -> None: ...

For kinds that other projects define, and for own kinds whose rules are better kept apart.  Give an
instance to ``Manager.add`` or to the ``Harness``; the command line finds the classes of a module.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from myrmidon.api.objects.refs import Kind
from myrmidon.api.typed.markers import Rule, checked_rules
from myrmidon.api.typed.object_types import kind_of, refuse_kind
from myrmidon.api.typed.unstructured import Unstructured, unstructured
from myrmidon.errors import DefinitionError
from myrmidon.webhooks.admission.declarations import declaration_of, positional

R = TypeVar("R")


class Admission(Generic[R]):
    """Validators and defaults for the objects of one kind.  Subclass it as ``Admission[V1Pod]``.

    The type is what the methods get: a Resource class, a class derived from ``Unstructured``, or a
    kubernetes-asyncio model.  For any other kind:
    ``class PodRules(Admission[Unstructured], kind=kinds.POD)``.

    ``rules`` are CEL expressions over ``object`` and ``oldObject``, which the server evaluates
    itself: ``generate`` writes a ValidatingAdmissionPolicy for them, and no webhook is called.
    """

    resource: ClassVar[type[Any]]
    """The class of the objects, from ``Admission[...]``."""
    policy_rules: ClassVar[tuple[Rule, ...]] = ()
    """The CEL rules of the class statement."""

    def __class_getitem__(cls, of: Any) -> Any:
        refuse_kind("Admission", of)
        return super().__class_getitem__(of)  # type: ignore[misc]

    def __init_subclass__(
        cls, *, kind: Kind | None = None, rules: Sequence[Rule] = (), **kwargs: Any
    ) -> None:
        super().__init_subclass__(**kwargs)
        found = _resource_of(cls, kind)
        if found is not None:
            cls.resource = found
        if not hasattr(cls, "resource"):
            raise DefinitionError(
                f"{cls.__name__} does not say of which kind its objects are.\n"
                f"  fix: write `class {cls.__name__}(Admission[V1Pod])`, or "
                f"`class {cls.__name__}(Admission[Unstructured], kind=kinds.POD)`"
            )
        cls.policy_rules = (*cls.policy_rules, *checked_rules(cls.__name__, rules))
        for name, member in vars(cls).items():
            if declaration_of(member) is not None:
                check_parameters(f"{cls.__name__}.{name}", member, 2, 4)

    @classmethod
    def kind(cls) -> Kind:
        """Return the kind of the objects."""
        found = kind_of(cls.resource)
        assert found is not None, "_resource_of returns only classes that have a kind"
        return found


def check_parameters(called: str, method: Any, fewest: int, most: int) -> None:
    """Raise unless the method takes the arguments that the framework passes."""
    count = positional(method)
    if fewest <= count <= most:
        return
    objects = "self" if fewest == 1 else "self, obj"
    raise DefinitionError(
        f"{called} takes {count} parameters.\n"
        f"  fix: write `({objects})`, `({objects}, request)` or `({objects}, request, ctx)`"
    )


def _resource_of(cls: type, kind: Kind | None) -> type[Any] | None:
    """Return the class in the class's own ``Admission[...]`` base; None if it has none."""
    if kind is not None:
        return unstructured(kind)
    for base in getattr(cls, "__orig_bases__", ()):
        origin = get_origin(base)
        if isinstance(origin, type) and issubclass(origin, Admission):
            for argument in get_args(base):
                if isinstance(argument, type) and argument is not Unstructured:
                    return argument if kind_of(argument) is not None else None
    return None
