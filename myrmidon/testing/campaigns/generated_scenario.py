"""Scenarios from samples: create each object, change each field by its schema, delete it.

``myrmidon simulate`` builds it from the controllers and the YAML files of its arguments, or from the
schema alone.  It is a value with a JSON form, which artefacts contain: a replay does the same steps
even if the schema or the sample has changed since.

The objects of the controllers' kinds are the steps of the user; all other objects of the files exist
before the controllers start.

There are two scenarios.  The first ends after the edits, so that every run is compared with what the
controllers made of the last spec; the second goes on with the deletion, after which nothing may be left.
A scenario with a deletion alone would hide most wrong children, because they are gone at its end.  Each of the first ``_SINGLE_EDITS`` fields is changed by an edit of its
own; the last edit changes all others together, so that a large spec does not make every run slow.

A schema does not say which values make sense.  So each change is tried alone and without faults first,
and one that the server refuses or after which the controllers do not settle is replaced by the next
candidate of its field.  What is left out is reported.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from myrmidon.api.objects.accessors import Json, name_of, namespace_of
from myrmidon.api.objects.refs import Kind
from myrmidon.api.typed.resource import Resource
from myrmidon.errors import ApiError, NotFoundError, UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.testing.campaigns.schema_changes import changed_fields, smallest_spec
from myrmidon.testing.simulation.edits import combined
from myrmidon.testing.simulation.scenarios import Scenario
from myrmidon.testing.simulation.simulation import Simulation

_SINGLE_EDITS = 5
_REFUSED = (400, 403, 422)
_GIVEN_NAMESPACES = ("", "default", "kube-system", "kube-public", "kube-node-lease")


@dataclass(slots=True)
class GeneratedSteps:
    """What happens in a generated scenario."""

    given: list[Json] = field(default_factory=list)
    """Objects that exist before the controllers start."""
    objects: list[tuple[Json, list[Json]]] = field(default_factory=list)
    """The manifest of each object of the user, and its edits as merge patches."""
    replicas: int = 1
    deletes: bool = False
    """Whether the objects are deleted at the end."""
    unchanged: list[str] = field(default_factory=list)
    """Fields that are not changed, and why; not part of the JSON form."""
    refused: str = ""
    """What the server said about the last edit that it refused; not part of the JSON form."""

    def to_json(self) -> Json:
        """Return the steps as JSON."""
        objects = [{"manifest": manifest, "edits": edits} for manifest, edits in self.objects]
        return {
            "given": self.given, "objects": objects, "replicas": self.replicas,
            "deletes": self.deletes,
        }  # fmt: skip

    @classmethod
    def from_json(cls, document: Any) -> "GeneratedSteps":
        """Return the steps of an artefact; raise ``UsageError`` if it has none."""
        try:
            objects = [(one["manifest"], one["edits"]) for one in document["objects"]]
            replicas, deletes = int(document["replicas"]), bool(document["deletes"])
            return cls(list(document["given"]), objects, replicas, deletes)
        except (KeyError, TypeError, ValueError):
            raise UsageError(
                "the artefact does not contain the steps of its scenario.\n"
                "  fix: replay the artefact of a test with `pytest --sim-replay FILE`"
            ) from None

    def __str__(self) -> str:
        edits = sum(len(edits) for _, edits in self.objects)
        objects = ", ".join(f"{one['kind']} {name_of(one)}" for one, _ in self.objects)
        many = "1 edit" if edits == 1 else f"{edits} edits"
        return f"create {objects}, {many}" + (", delete" if self.deletes else "")


def generated_steps(
    controllers: Sequence[type[Controller[Any]]], samples: Iterable[Json], replicas: int = 1
) -> GeneratedSteps:
    """Return the steps for controllers, from samples or from the schemas of their kinds."""
    made = GeneratedSteps(replicas=replicas)
    owned = {(one.kind().api_version, one.kind().kind): one for one in controllers}
    chosen: list[tuple[type[Controller[Any]], Json]] = []
    for manifest in samples:
        controller = owned.get((str(manifest.get("apiVersion")), str(manifest.get("kind"))))
        if controller is None:
            made.given.append(manifest)
        else:
            chosen.append((controller, manifest))
    chosen = chosen or [(controllers[0], _drawn(controllers))]
    made.given[:0] = _namespaces([*made.given, *(manifest for _, manifest in chosen)])
    for controller, manifest in chosen:
        edits = _edits(controllers, controller, manifest, made)
        made.objects.append((manifest, edits))
    return made


def scenario_of(
    controllers: Sequence[type[Controller[Any]]], steps: GeneratedSteps, budget: str = "ci"
) -> Scenario:
    """Return the scenario that does the steps, with a ``settle`` after each."""

    async def body(sim: Simulation) -> None:
        sim.controller(*controllers, replicas=steps.replicas)
        sim.given(*steps.given)
        for manifest, edits in steps.objects:
            await sim.user.create({**manifest, "metadata": dict(manifest["metadata"])})
            await sim.settle()
            for edit in edits:
                await _edited(sim, manifest, edit, steps)
        for manifest, _ in reversed(steps.objects if steps.deletes else []):
            await sim.user.delete(manifest)
            await sim.settle()

    names = [one.name for one in controllers]
    body.__name__ = "-".join([*names, "deleted"] if steps.deletes else names)
    return Scenario(body, budget)


async def _edited(sim: Simulation, manifest: Json, edit: Json, steps: GeneratedSteps) -> None:
    """Make an edit.  One that the server refuses is refused in every run, so it changes nothing.

    An object may have deleted itself by then (``out.delete_self``); then there is nothing to edit.
    """
    try:
        await sim.user.patch(manifest, {"spec": edit})
    except NotFoundError:
        return
    except ApiError as error:
        if error.status not in _REFUSED:
            raise
        steps.refused = str(error)
    await sim.settle()


def _edits(
    controllers: Sequence[type[Controller[Any]]],
    controller: type[Controller[Any]],
    manifest: Json,
    made: GeneratedSteps,
) -> list[Json]:
    resource: Any = controller.resource
    if not (isinstance(resource, type) and issubclass(resource, Resource)):
        return []
    single: list[Json] = []
    together: Json = {}
    settles = not _trial(controllers, made, manifest, [])
    for path, changes in changed_fields(resource, manifest.get("spec") or {}):
        problem = "the schema gives no other value"
        for change in changes:
            problem = _trial(controllers, made, manifest, [change]) if settles else ""
            if problem:
                continue
            if len(single) < _SINGLE_EDITS:
                single.append(change)
            else:
                together = combined(together, change)
            break
        if problem:
            made.unchanged.append(f"{controller.kind().kind} spec.{path}: {problem}")
    return [*single, together] if together else single


def _trial(
    controllers: Sequence[type[Controller[Any]]],
    made: GeneratedSteps,
    manifest: Json,
    edits: list[Json],
) -> str:
    """Run edits without faults; return why they cannot be part of a scenario, "" if they can."""
    steps = GeneratedSteps(made.given, [*made.objects, (manifest, edits)], made.replicas)
    result = scenario_of(controllers, steps).run()
    if steps.refused:
        return steps.refused
    if result.finished:
        return ""
    return next((one.message for one in result.failures), "the controllers do not settle")


def _drawn(controllers: Sequence[type[Controller[Any]]]) -> Json:
    resource: Any = controllers[0].resource
    kind: Kind = controllers[0].kind()
    if not (isinstance(resource, type) and issubclass(resource, Resource)):
        raise UsageError(
            f"no sample contains a {kind.kind}, and its schema is not known.\n"
            f"  fix: name a YAML file with a {kind.kind}"
        )
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": "sample"},
        "spec": smallest_spec(resource),
    }


def _namespaces(manifests: Sequence[Json]) -> list[Json]:
    """Return the namespaces that manifests need and that are not among them."""
    there = {name_of(one) for one in manifests if one.get("kind") == "Namespace"}
    wanted = {namespace_of(one) for one in manifests} - there - set(_GIVEN_NAMESPACES)
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in sorted(wanted)
    ]
