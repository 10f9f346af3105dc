"""A property of every good controller: the end depends on the specs, not on the way there.

    def test_web_apps_converge():
        check_converges(WebApps, fields={"hosts": st.lists(names(), max_size=2)})

Hypothesis draws histories: objects are created, edited and deleted, time passes, the controllers are
restarted, requests fail and the process crashes.  For each history:

1. It is played in a ``Harness``.  Afterwards the faults end, and the controllers get the time that a
   retry or a broken watch needs.
2. ``settle`` and ``at_rest`` must hold: a controller that writes in each pass fails here.
3. A second harness, without faults, gets only the specs that the first one ended with.  Both servers must
   then hold the same objects of the controller's kind and of the kinds that it manages.  A controller
   that forgets to remove a child, or that creates two after a lost answer, fails here.

Hypothesis shrinks a history that fails, so the error shows a short one.

What is compared: ``testing.end_states``.

What it does not do: compare external systems.  ``make`` is called for each harness, so that each can have a
stand-in of its own.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import chain
from typing import Any, TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import HttpRequest
from myrmidon.api.typed.resource import Resource
from myrmidon.api.values.merge_differences import merge_patch_between
from myrmidon.errors import ApiError, UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.testing.faults.transport import Fault, Script
from myrmidon.testing.harness.garbage import rare_collections
from myrmidon.testing.harness.harness import Harness
from myrmidon.testing.properties.end_states import differences, end_state
from myrmidon.testing.properties.strategies import AnyResource, Fields, edits, faults

RECOVERY = timedelta(minutes=15)
"""How long the controllers get after the last fault: longer than the longest backoff and stall."""

_TRIES = 20  # a crash can follow a restart, but there are only a few faults
_NAMES = ("first", "second")

# --------------------------------------------------------------------------- histories


@dataclass(frozen=True, slots=True)
class PutObject:
    """A user creates an object, or changes it to this spec."""

    name: str
    spec: Json


@dataclass(frozen=True, slots=True)
class DeleteObject:
    """A user deletes an object."""

    name: str


@dataclass(frozen=True, slots=True)
class RestartControllers:
    """The process of the controllers is killed, and another one starts."""


@dataclass(frozen=True, slots=True)
class LetTimePass:
    """Time passes."""

    seconds: float


Step: TypeAlias = PutObject | DeleteObject | RestartControllers | LetTimePass


@dataclass(frozen=True, slots=True)
class History:
    """What users do, one step after the other, and which requests of the controllers fail meanwhile."""

    steps: tuple[Step, ...]
    faults: Mapping[int, Fault] = field(default_factory=dict)


def histories(
    resource: type[AnyResource],
    *,
    fields: Fields | None = None,
    names: Sequence[str] = _NAMES,
    crashes: bool = True,
) -> st.SearchStrategy[History]:
    """Draw histories of objects with these names; ``fields`` as for ``resources``."""
    specs = edits(resource, fields=fields).map(lambda spec: spec.to_wire())
    some = st.sampled_from((names[0], *names))  # twice, so that one object sees more of its life
    puts = st.builds(PutObject, some, specs)
    pauses = st.builds(LetTimePass, st.sampled_from((0.0, 0.5, 5.0, 60.0)))
    single = st.one_of(puts, st.builds(DeleteObject, some), pauses, st.builds(RestartControllers))
    edits_later = st.tuples(
        st.just(LetTimePass(5.0)), puts
    )  # of what has settled, as most edits are
    parts = st.lists(st.one_of(edits_later, st.tuples(single)), max_size=5)
    steps = st.builds(lambda first, rest: (first, *chain.from_iterable(rest)), puts, parts)
    return st.builds(History, steps, faults(crashes=crashes))


# ------------------------------------------------------------------------------- checks


class NotConvergedError(AssertionError):
    """The controllers ended in another state than a fresh run with the same specs."""


def check_converges(
    make: Callable[[], Controller[Any]],
    *,
    fields: Fields | None = None,
    names: Sequence[str] = _NAMES,
    manifests: Iterable[Any] = (),
    ignore: Iterable[str] = (),
    crashes: bool = True,
    max_examples: int = 25,
) -> None:
    """Check histories that Hypothesis draws; fail with the shortest that does not converge.

    - ``make``: returns a new controller, for example its class.
    - ``fields``: strategies of fields of the spec, by path; see ``strategies.resources``.
    - ``names``: the names of the objects; few, so that a history edits and deletes what it created.
    - ``manifests``: objects that exist before, such as namespaces and Secrets to refer to.
    - ``ignore``: paths of fields that may depend on the history.
    - ``crashes``: whether the process of the controllers may be killed in the middle of a request.
    - ``max_examples``: how many histories are drawn; each takes some tenths of a second.
    """
    resource, existing, ignored = _resource_of(make()), list(manifests), tuple(ignore)

    @settings(
        max_examples=max_examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(histories(resource, fields=fields, names=names, crashes=crashes))
    def converges(history: History) -> None:
        check_history(make, history, manifests=existing, ignore=ignored)

    with rare_collections():
        converges()


def check_history(
    make: Callable[[], Controller[Any]],
    history: History,
    *,
    manifests: Iterable[Any] = (),
    ignore: Iterable[str] = (),
) -> None:
    """Check one history: raise ``NotSettledError``, ``NotAtRestError`` or ``NotConvergedError``."""
    existing, ignored = list(manifests), tuple(ignore)
    controller, script = make(), _EndingScript(history.faults, _is_after_start)
    with Harness(controller, manifests=existing, faults=script) as cluster:
        player = _Player(cluster, _resource_of(controller))
        for step in history.steps:
            player.play(step)
        script.is_over = True
        _rest(cluster)
        ended = end_state(cluster, controller, ignored)
    controller = make()
    with Harness(controller, manifests=existing) as cluster:
        for manifest in player.wanted.values():
            cluster.apply(manifest)
        _rest(cluster)
        expected = end_state(cluster, controller, ignored)
    found = differences(expected, ended)
    if found:
        raise NotConvergedError(
            "the end depends on the history.  A fresh run with the same specs differs:\n"
            + "\n".join(found)
        )


class _EndingScript(Script):
    """Faults that stop when the history is over."""

    is_over = False

    def __call__(self, request: HttpRequest) -> Fault | None:
        return None if self.is_over else super().__call__(request)


def _is_after_start(request: HttpRequest) -> bool:
    """Whether a request is not one of the checks at the start, whose failure ends the process."""
    return ("limit", "1") not in request.query


class _Player:
    """Plays the steps of a history and knows the specs that it leaves behind."""

    def __init__(self, cluster: Harness, resource: type[AnyResource]) -> None:
        self._cluster, self._resource = cluster, resource
        self.wanted: dict[str, Json] = {}

    def play(self, step: Step) -> None:
        match step:
            case PutObject(name, spec):
                self._put(name, spec)
            case DeleteObject(name):
                if self.wanted.pop(name, None) is not None:
                    self._cluster.delete(self._resource, name)
            case LetTimePass(seconds):
                self._cluster.advance(timedelta(seconds=seconds))
            case RestartControllers():
                self._cluster.restart()
        if self._cluster.crashed:
            self._cluster.restart()

    def _put(self, name: str, spec: Json) -> None:
        kind = self._resource.KIND
        if name not in self.wanted and self._cluster.get(kind, name) is not None:
            _settle(self._cluster)  # it is being deleted; a new one needs its name
        made: Json = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": name},
            "spec": spec,
        }
        if name in self.wanted:
            changes = {"spec": merge_patch_between(self.wanted[name]["spec"], spec)}
            with suppress(ApiError):  # a rule may forbid the change
                made["spec"] = self._cluster.patch(kind, name, changes)["spec"]
                self.wanted[name] = made
        else:
            made["spec"] = self._cluster.apply(made)["spec"]
            self.wanted[name] = made


def _settle(cluster: Harness) -> None:
    """Settle, with a new process whenever one crashed."""
    for _ in range(_TRIES):
        cluster.settle()
        if not cluster.crashed:
            return
        cluster.restart()


def _rest(cluster: Harness) -> None:
    """Let the controllers recover from all faults; assert that they then settle and do not write."""
    if cluster.crashed:
        cluster.restart()
    cluster.settle()
    cluster.advance(RECOVERY)
    cluster.at_rest()


def _resource_of(controller: Controller[Any]) -> type[AnyResource]:
    resource: Any = controller.resource
    if not (isinstance(resource, type) and issubclass(resource, Resource)):
        raise UsageError(
            f"{type(controller).__name__} reconciles {controller.kind()}, which has no class with a schema "
            "to draw objects from.\n  fix: write a Resource class for it, with of=..."
        )
    return resource
