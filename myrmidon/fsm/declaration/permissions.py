"""Permission: a right that a controller needs and that its declarations do not show."""

from dataclasses import dataclass

from myrmidon.api.objects.refs import Kind
from myrmidon.api.typed.object_types import KindLike, kind_of
from myrmidon.errors import DefinitionError


@dataclass(frozen=True, slots=True)
class Permission:
    """A right that ``myrmidon generate rbac`` adds to the role of a controller.

    Most rights follow from ``manages``, ``reads`` and the code.  Requests through ``ctx.api`` and
    rights that are only passed on (``bind``, ``escalate``) do not, and have to be declared:
    ``Permission(kinds.POD, "get", subresource="log")``,
    ``Permission(kinds.CLUSTER_ROLE, "bind", names=("view",))``.

    - ``of``: a ``Kind``, a Resource class or a kubernetes-asyncio model class.
    - ``verbs``: one verb or several.
    - ``subresource``: the subresource, such as ``log``.  Default: the object itself.
    - ``names``: only objects of these names.  Default: empty, all objects.

    In which namespaces it holds follows from ``ControllerOptions.namespaces``.
    """

    of: KindLike
    verbs: str | tuple[str, ...]
    subresource: str = ""
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if kind_of(self.of) is None:
            raise DefinitionError(
                f"Permission is for {self.of!r}, which is not a kind.\n"
                "  fix: use a constant of myrmidon.kinds, a Resource class, or "
                "Kind(group, version, kind, plural, namespaced)"
            )
        for field in ("verbs", "names"):
            value = getattr(self, field)
            object.__setattr__(self, field, (value,) if isinstance(value, str) else tuple(value))
        if not self.verbs:
            raise DefinitionError(
                f"Permission for {self.kind} has no verbs.\n"
                f'  fix: write Permission(kinds.POD, ("get", "list"))'
            )

    @property
    def kind(self) -> Kind:
        """The kind that the right is for."""
        kind = kind_of(self.of)
        assert kind is not None, "checked above"
        return kind
