"""Webhooks: which webhooks the classes of a program need, and which methods each one calls.

Methods of one class with the same role and the same terms share a webhook.  The webhook of methods
with the default terms is called ``validate.webapps.demo.myrmidon.dev``; one with other terms has the
name of its first method in front.  So names and paths stay when methods are added, whatever their
terms: during a roll-out, an old replica answers the requests of the new configuration, and a new one
those of the old.  A path that a replica does not know is a 404, and the API server acts by the failure
policy.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.api.typed.object_types import is_defined_here, kind_of, reader_of
from myrmidon.api.typed.resource import Resource
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.declaration.shapes import Manages, Reads
from myrmidon.webhooks.admission.declarations import (
    OPERATIONS,
    MethodDeclaration,
    Operation,
    Role,
    WebhookTerms,
    declaration_of,
    positional,
)
from myrmidon.webhooks.admission.rules import Admission, check_parameters

Subject: TypeAlias = "type[Resource[Any, Any] | Admission[Any]] | Admission[Any]"
"""What has validators and defaults: a Resource class, an Admission class, or an instance of one."""


@dataclass(frozen=True, slots=True)
class WebhookMethod:
    """One validator or default."""

    name: str
    declared: MethodDeclaration
    function: Callable[..., Any]
    count: int
    """The number of arguments that it takes, self included."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook: the writes that it is called for, and the methods that it runs."""

    role: Role
    subject: Subject
    kind: Kind
    terms: WebhookTerms
    methods: tuple[WebhookMethod, ...]
    label: str = ""
    """The part of the name that tells it from other webhooks of the class; empty for default terms."""

    @property
    def name(self) -> str:
        """The name in the webhook configuration, a domain of at least three parts."""
        parts = (self.label, self.role, self.kind.plural, self.kind.group or "core")
        return ".".join(filter(None, parts))

    @property
    def path(self) -> str:
        """The path of the URL, ``/validate/demo.myrmidon.dev/v1/webapps``."""
        group = self.kind.group or "core"
        found = f"/{self.role}/{group}/{self.kind.version}/{self.kind.plural}"
        return f"{found}/{self.label}" if self.label else found

    @property
    def operations(self) -> tuple[Operation, ...]:
        """The operations that one of the methods is for."""
        wanted = {each for method in self.methods for each in method.declared.on}
        return tuple(each for each in OPERATIONS if each in wanted)

    @property
    def reads(self) -> tuple[Reads, ...]:
        """What the methods read.  A method of a Resource that takes a context may read its own kind."""
        found = dict.fromkeys(each for method in self.methods for each in method.declared.reads)
        if not _is_rules(self.subject) and any(method.count == 3 for method in self.methods):
            found |= {Reads(self.resource): None}
        return tuple(found)

    @property
    def is_own(self) -> bool:
        """Whether the kind is defined by this program."""
        return is_defined_here(self.resource)

    @property
    def resource(self) -> Any:
        """The class of the objects."""
        return getattr(self.subject, "resource", self.subject)

    def object_of(self, raw: Json) -> Any:
        """Return the object as the methods get it; raise ``UnfitObjectError`` if it does not fit."""
        return reader_of(self.resource)(raw)


def webhooks_of(subject: Subject) -> tuple[Webhook, ...]:
    """Return the webhooks of a class, defaults first; none if it declares no method."""
    rules = _is_rules(subject)
    cls: Any = subject if isinstance(subject, type) else type(subject)
    kind = cls.kind() if rules else kind_of(cls)
    assert kind is not None, "a Resource class and an Admission class have a kind"
    together: dict[tuple[Role, WebhookTerms], list[WebhookMethod]] = {}
    for name, declared in _declared(cls).items():
        function = getattr(cls, name)
        if not rules:
            check_parameters(f"{cls.__name__}.{name}", function, 1, 3)
        method = WebhookMethod(f"{cls.__name__}.{name}", declared, function, positional(function))
        together.setdefault((declared.role, declared.terms), []).append(method)
    made: list[Webhook] = []
    for role in ("default", "validate"):
        chosen = [(terms, found) for (of, terms), found in together.items() if of == role]
        for terms, methods in chosen:
            first = methods[0].name.rpartition(".")[2].replace("_", "-")
            label = "" if terms == WebhookTerms() else first
            made.append(Webhook(role, subject, kind, terms, tuple(methods), label))
    return tuple(made)


def declared_subjects(controllers: Iterable[type[Controller[Any]]]) -> list[Subject]:
    """Return the Resource classes with validators or defaults that the controllers use."""
    found: dict[type[Resource[Any, Any]], None] = {}
    for controller in controllers:
        entries = (controller.resource, *controller.manages, *controller.reads)
        for entry in entries:
            cls = entry.kind if isinstance(entry, Manages | Reads) else entry
            if isinstance(cls, type) and issubclass(cls, Resource) and _declared(cls):
                found[cls] = None
    return list(found)


def _declared(cls: type) -> dict[str, MethodDeclaration]:
    """Return the declared methods in the order of declaration, base classes first.

    A subclass removes one by setting the name to None.
    """
    declared: dict[str, MethodDeclaration] = {}
    for base in reversed(cls.__mro__):
        for name, member in vars(base).items():
            found = declaration_of(member)
            if found is not None:
                declared[name] = found
            elif name in declared and member is None:
                del declared[name]
    return declared


def _is_rules(subject: Any) -> bool:
    cls = subject if isinstance(subject, type) else type(subject)
    return issubclass(cls, Admission)
