"""Property tests of apply semantics for a kind of your own.

    def test_web_apps_can_be_applied():
        check_apply_laws(WebApp)

A controller that manages objects of a kind applies them again in every pass.  That only comes to rest
if the kind plays along: defaults, list types and normalised values of its schema must not make an object
that was just written look different.  ``check_apply_laws`` draws objects of the kind (``strategies``) and
lets a small controller keep each of them.  The laws:

1. create: the first settle creates the object with one write, although several passes declare it.
2. again: further passes over the same declaration write nothing.
3. restart: a process with empty caches writes nothing for an object that is as declared.
4. foreign fields: a label and an annotation of another writer stay, and cause no write.
5. removal: an object that is not declared any more is deleted; declared again, it is as it was.
6. edit: after another spec is declared, further passes write nothing.

Importing this module needs hypothesis: ``pip install 'myrmidon[test]'``.
"""

from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, given, settings

from myrmidon.api.objects.accessors import Json
from myrmidon.api.typed.model import Model
from myrmidon.api.typed.object_types import is_defined_here
from myrmidon.api.typed.resource import Resource
from myrmidon.api.typed.status import Status
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.declaration.options import ControllerOptions
from myrmidon.fsm.machine.results import Done, Result
from myrmidon.fsm.machine.states import state
from myrmidon.generate.schema.definitions import crds
from myrmidon.patch.diff import difference
from myrmidon.sets.outputs.manifests import manifest_of
from myrmidon.sets.outputs.output_set import OutputSet
from myrmidon.testing.harness.harness import Harness
from myrmidon.testing.harness.recording import Exchange
from myrmidon.testing.properties.end_states import comparable
from myrmidon.testing.properties.strategies import AnyResource, Fields, resources

_NAMESPACE = "default"
_FOREIGN = {
    "metadata": {
        "labels": {"foreign.example.com/label": "stays"},
        "annotations": {"foreign.example.com/note": "stays"},
    }
}


class ApplyLawError(AssertionError):
    """A kind breaks one of the laws of apply; the message names the law and the fields."""


class KeeperSpec(Model):
    """What the object that keeps others says."""

    passes: int = 0
    """Is counted up to cause a pass."""


class Keeper(
    Resource[KeeperSpec, Status], group="laws.myrmidon.dev", version="v1", namespaced=False
):
    """Keeps the object under test; cluster-scoped, so that it may own objects of every scope."""


def check_apply_laws(
    resource: type[AnyResource],
    *,
    fields: Fields | None = None,
    manifests: Iterable[Any] = (),
    max_examples: int = 25,
) -> None:
    """Check the laws of apply for objects of a kind; raise ``ApplyLawError`` for the simplest that fails.

    - ``fields``: strategies of fields of the spec, by path; see ``strategies.resources``.
    - ``manifests``: objects that exist before, to which the drawn objects refer.
    - ``max_examples``: how many pairs of objects are drawn.
    """
    existing = list(manifests)
    drawn = resources(resource, fields=fields)

    @settings(
        max_examples=max_examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(drawn, drawn)
    def holds(first: AnyResource, other: AnyResource) -> None:
        check_applied_object(first, other, manifests=existing)

    holds()


def check_applied_object(
    first: AnyResource, other: AnyResource, *, manifests: Iterable[Any] = ()
) -> None:
    """Check the laws for one object, and for an edit to the spec of another one of its kind."""
    keeper = _keeper_of(type(first))()
    keeper.wanted = first
    with Harness(keeper, manifests=_existing(first, manifests)) as cluster:
        laws = _Laws(cluster, first)
        cluster.apply(Keeper(name="keeper"))
        laws.settle("create")
        created = laws.stored("create")
        laws.expect("create", laws.writes[1:])
        laws.another_pass("again")
        cluster.restart()
        laws.settle("restart")
        laws.expect("restart", laws.fresh())
        laws.leave_foreign_fields()
        keeper.wanted = None
        laws.another_pass("removal", may_write=True)
        if laws.find() is not None:
            raise ApplyLawError(laws.told("removal", ["the object still exists"]))
        keeper.wanted = first
        laws.another_pass("removal", may_write=True)
        laws.compare("removal", created)
        keeper.wanted = _with_spec(first, other)
        laws.another_pass("edit", may_write=True)
        laws.another_pass("edit")


def _existing(obj: AnyResource, manifests: Iterable[Any]) -> list[Any]:
    """Return what exists before: the objects of the caller, and a definition that is not ours.

    The harness installs the definition of a kind that the program defines.
    """
    kind = type(obj)
    return [*([] if is_defined_here(kind) else crds([kind])), *manifests]


def _with_spec(obj: AnyResource, other: AnyResource) -> AnyResource:
    document = obj.to_json() | {"spec": other.to_json().get("spec", {})}
    return type(obj).from_json(document)


def _keeper_of(resource: type[AnyResource]) -> type[Any]:
    """Return a controller that keeps one object of a kind."""

    class Keepers(Controller[Keeper]):
        """Applies the object under test."""

        manages = (resource,)
        options = ControllerOptions(prune=True)
        wanted: AnyResource | None = None

        @state(initial=True, condition="Kept")
        def kept(self, keeper: Keeper, out: OutputSet) -> Result:  # noqa: ARG002 - states take it
            """The object is as it is declared."""
            if self.wanted is not None:
                out.apply(_placed(self.wanted))
            return Done()

    return Keepers


def _placed(obj: AnyResource) -> Json:
    manifest = dict(manifest_of(obj))
    if obj.KIND.namespaced:
        manifest["metadata"] = {**manifest["metadata"], "namespace": _NAMESPACE}
    return manifest


class _Laws:
    """The object under test on its server, and the writes of the keeper to it."""

    def __init__(self, cluster: Harness, obj: AnyResource) -> None:
        self._cluster, self._kind, self._name = cluster, obj.KIND, obj.name
        self._passes = self._seen = 0
        self._obj = obj

    @property
    def writes(self) -> list[Exchange]:
        """All writes to objects of the kind."""
        plural = f"/{self._kind.plural}"
        return [one for one in self._cluster.writes if plural in f"{one.path}/"]

    def fresh(self) -> list[Exchange]:
        """Return the writes since the last call."""
        seen, self._seen = self._seen, len(self.writes)
        return self.writes[seen:]

    def settle(self, law: str) -> None:
        try:
            self._cluster.settle()
        except AssertionError as error:
            raise ApplyLawError(self.told(law, str(error).splitlines())) from None

    def another_pass(self, law: str, *, may_write: bool = False) -> None:
        """Cause a pass; without ``may_write`` it must not write."""
        self.fresh()
        self._passes += 1
        self._cluster.patch(Keeper, "keeper", {"spec": {"passes": self._passes}})
        self.settle(law)
        written = self.fresh()
        if not may_write:
            self.expect(law, written)

    def leave_foreign_fields(self) -> None:
        self._cluster.patch(self._kind, self._name, _FOREIGN)
        self.settle("foreign fields")
        self.another_pass("foreign fields")
        meta = self.stored("foreign fields")["metadata"]
        for part, said in _FOREIGN["metadata"].items():
            if not said.items() <= (meta.get(part) or {}).items():
                raise ApplyLawError(self.told("foreign fields", [f"metadata.{part} was changed"]))

    def find(self) -> Json | None:
        return next((one for one in self._cluster.list(self._kind)), None)

    def stored(self, law: str) -> Json:
        found = self.find()
        if found is None:
            raise ApplyLawError(self.told(law, ["the object does not exist", *self._refusals()]))
        return comparable(found, is_own=True, ignore=(), uids={})

    def compare(self, law: str, expected: Json) -> None:
        lines = difference(expected, self.stored(law))
        if lines:
            raise ApplyLawError(self.told(law, lines))

    def expect(self, law: str, unwanted: list[Exchange]) -> None:
        self._seen = len(self.writes)
        if unwanted:
            raise ApplyLawError(
                self.told(law, [f"{one.request.method} {one.path}: {one.body}" for one in unwanted])
            )

    def told(self, law: str, lines: Iterable[str]) -> str:
        head = f"the law {law!r} of apply does not hold for {self._kind.kind}: {_LAWS[law]}"
        return "\n".join(
            [head, f"  object: {_placed(self._obj)}", *(f"  {line}" for line in lines)]
        )

    def _refusals(self) -> list[str]:
        return [str(one.answer.get("message")) for one in self.writes if one.status >= 400]


_LAWS = {
    "create": "an object is created with one write",
    "again": "a pass over the same declaration writes nothing",
    "restart": "a new process writes nothing for an object that is as declared",
    "foreign fields": "labels and annotations of other writers stay and cause no write",
    "removal": "what is not declared any more is deleted, and is the same when declared again",
    "edit": "after another spec is declared, further passes write nothing",
}
