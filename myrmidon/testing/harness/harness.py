"""Harness: controllers and an embedded API server in one process, in virtual time.

    with Harness(WebApps()) as cluster:
        cluster.apply(WebApp(name="shop", spec=WebAppSpec(image="shop:1")))
        cluster.settle()
        assert cluster.ready(WebApp, "shop")
        cluster.at_rest()

Nothing sleeps and nothing is random: the same test sends the same requests in the same order.

How time passes.  The event loop runs all callbacks that are ready; time moves only when the test
says so, and every timer on the way fires at its own time.  The controllers (requeues, backoff,
timeouts) and the server's actors (pods that start, namespaces that are deleted) use timers of the
same loop.

    step       run what is ready; no time passes
    advance    move time by a duration, and fire the timers at its end as well
    settle     move time from timer to timer until no pass is owed and no actor has work; a pass
               that Done(again=...) scheduled is not owed, settle(until=...) goes on to it

None of them can hang.  An object that is reconciled again and again without time passing is found
by the number of loop turns (``TURNS_MAX``); ``settle`` gives up after ``within``.

Faults: ``faults`` decides for each request of the controllers whether it fails
(``testing.faults``), ``crash`` and ``restart`` replace the process of the controllers.  The test's
own requests (``apply``, ``get``, ...) use a separate connection, which has no faults.

Webhooks: validators and defaults (``@validates``, ``@defaults``) are called in the process, for writes
of the test and of the controllers.  Pass the ``Admission`` objects beside the controllers.  The
manifests of the start, and writes of the server's actors, are not checked.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Literal
from weakref import WeakMethod

from myrmidon.api.objects.accessors import Json
from myrmidon.api.requests.transport import Transport
from myrmidon.apiserver.actors import cluster_actors
from myrmidon.apiserver.auth.users import User
from myrmidon.apiserver.fronts.local import LocalTransport
from myrmidon.apiserver.fronts.waiting import Tending
from myrmidon.apiserver.requests.environment import CountingEnvironment
from myrmidon.apiserver.server import ApiServer
from myrmidon.errors import MyrmidonError
from myrmidon.fsm.controller import Controller
from myrmidon.generate.manifests.layout import definitions_of
from myrmidon.io.client import Client
from myrmidon.runtime import ManagerOptions
from myrmidon.runtime.webhooks.dispatch import WebhookDispatch
from myrmidon.sets.outputs.identification import check_identified
from myrmidon.sets.outputs.manifests import manifest_of
from myrmidon.testing.faults.transport import Faults, FaultyTransport
from myrmidon.testing.harness import generated_role
from myrmidon.testing.harness.clock import (
    EPOCH,
    TURNS_MAX,
    VirtualClock,
    VirtualTimeLoop,
    quiesced,
    reached,
)
from myrmidon.testing.harness.cluster import NAMESPACE, Cluster, Objects
from myrmidon.testing.harness.conversions import convert_in_process
from myrmidon.testing.harness.failures import NotSettledError
from myrmidon.testing.harness.misuse import check_duration, check_manifests, check_user
from myrmidon.testing.harness.recording import RecordingTransport
from myrmidon.testing.harness.webhooks import asking, in_process_configurations, in_process_policies
from myrmidon.webhooks.admission.rules import Admission
from myrmidon.webhooks.admission.webhooks import declared_subjects

_SAME_MOMENT_SECONDS = 1e-6
"""Times that differ by less count as equal: 0.1 + 0.2 is 0.30000000000000004."""

__all__ = ["Harness", "NotSettledError"]


class Harness(Cluster):
    """Controllers against an embedded API server, in virtual time.

    - ``manifests``: objects that exist before the controllers start.
    - ``actors``: the simulated parts of the cluster, such as the deployment controller and the
      garbage collector; by default all of them, ``()`` for none.
    - ``options``: by default ``ManagerOptions(seed=0)``, so that jitter is the same in each run.
    - ``namespace``: where objects without a namespace are looked up; ``default`` by default.
    - ``faults``: which requests of the controllers fail; none by default.
    - ``remotes``: remote clusters by name, each an ``ApiServer()`` or a transport.  ``faults`` and
      ``crash`` apply to them as well; ``get(kinds.CONFIG_MAP.at(name), ...)`` looks there.
    - ``crds``: whether the definitions of the controllers' kinds are installed at the start; True by
      default.  With False they are passed to the manager, and a test installs them itself or runs
      with ``ManagerOptions(install_crds=True)``.
    - ``run_as``: the user as which the controllers send their requests; the server then checks
      RBAC.  ``"generated-role"`` is a ServiceAccount with exactly the roles that ``myrmidon generate
      rbac`` writes.  Default: None, an administrator.
    """

    loop: VirtualTimeLoop

    _patience = timedelta(minutes=30)

    def __init__(
        self,
        *controllers: Controller[Any] | Admission[Any],
        manifests: Iterable[Any] = (),
        actors: Iterable[Any] | None = None,
        options: ManagerOptions | None = None,
        namespace: str = NAMESPACE,
        faults: Faults | None = None,
        remotes: Mapping[str, ApiServer | Transport] | None = None,
        crds: bool = True,
        run_as: User | Literal["generated-role"] | None = None,
    ) -> None:
        check_manifests(manifests)
        check_user(run_as)
        self.loop = loop = VirtualTimeLoop()
        given = ManagerOptions(seed=0) if options is None else options
        super().__init__(loop, controllers, given, namespace)
        controllers = self._controllers
        self._faults = faults
        self.clock = clock = VirtualClock(loop)
        self.server = ApiServer(
            environment=_ClockedEnvironment(clock),
            actors=cluster_actors() if actors is None else actors,
            rbac=run_as is not None,
        )
        classes = tuple(dict.fromkeys(map(type, controllers)))
        convert_in_process(self.server, classes)
        definitions = _definitions(classes)
        self._definitions = () if crds else definitions
        for definition in definitions if crds else ():
            _created(self.server.create(definition))
        self._install_webhooks(classes)
        if run_as == "generated-role":
            for made in generated_role.manifests(controllers, NAMESPACE):
                _created(self.server.create(made))
            run_as = generated_role.service_account(NAMESPACE)
        for manifest in map(manifest_of, manifests):
            check_identified(manifest)
            _created(self.server.create(manifest))
        self.transport = RecordingTransport(LocalTransport(self.server, user=run_as))
        self._user = Client(LocalTransport(self.server), clock=clock)
        self._recorded = {
            name: RecordingTransport(
                LocalTransport(one) if isinstance(one, ApiServer) else one,
                self.transport.log,
                name,
            )
            for name, one in (remotes or {}).items()
        }
        self._user.remotes = {
            name: Client(LocalTransport(one) if isinstance(one, ApiServer) else one, clock=clock)
            for name, one in (remotes or {}).items()
        }
        self._open.ends.append(self._wait(_tending(self.server)).stop)
        self._start()
        self._open.name = "Harness"

    def settle(self, within: timedelta | None = None, *, until: datetime | None = None) -> None:
        """Let time pass until no pass is owed and no actor has work, or the controllers crash.

        An object that only waits for its schedule (``Done(again=...)``) or its resync is settled.
        With ``until``, let time pass until then first, scheduled passes included:
        ``settle(until=datetime(2026, 1, 2, 3, 0, tzinfo=UTC))``.
        Raise ``NotSettledError``, which lists what each object waits for, if that takes longer than
        ``within`` (virtual time, by default 30 minutes).
        """
        __tracebackhide__ = True
        check_duration(within, "settle")
        if until is not None:
            self.advance(until - self.clock.now())
        allowed = within or self._patience
        ends_at = self.loop.time() + allowed.total_seconds()
        while True:
            self._step()
            due_at = self._due_at()
            if due_at is None or self._line.is_dead:
                return
            if due_at <= self.loop.time():
                # All callbacks have run: what is due waits for a worker, and that for a timer.
                due_at = self.loop.next_timer()
            if due_at > ends_at:
                raise NotSettledError(self._unsettled(allowed))
            self._sleep_until(due_at)

    def advance(self, duration: timedelta) -> None:
        """Let time pass; every timer on the way fires at its time, also one at the very end."""
        __tracebackhide__ = True
        check_duration(duration, "advance")
        self._step()
        ends_at = self.loop.time() + duration.total_seconds()
        self._sleep_until(ends_at)
        self._step()
        while self.loop.first_timer() <= ends_at + _SAME_MOMENT_SECONDS:
            self._sleep_until(self.loop.first_timer())
            self._step()

    def step(self) -> None:
        """Run everything that can run without time passing."""
        __tracebackhide__ = True
        self._step()

    def stored(self) -> Objects:
        """Return every object in the server's store, except those that each new cluster has."""
        return self.server.store.written()

    def crash(self) -> None:
        """Cut the controllers off from the server, as if their process had been killed.

        ``faults`` may call it while a request is being sent: that request does not reach the server
        unless its fault is ``Lose``.
        """
        for line in (self._line, *self._remote_lines.values()):
            line.die()

    @property
    def crashed(self) -> bool:
        """Whether the controllers are cut off by ``crash``."""
        return self._line.is_dead

    def restart(self) -> None:
        """Kill the process of the controllers and start another, with empty caches and queues."""
        self.crash()
        super().restart()

    def close(self) -> None:
        """Stop the controllers and the server, and close the event loop."""
        if self._finalizer.detach():
            self._open.close()

    # ---------------------------------------------------------------------------- inside

    def _line_to_server(self) -> Transport:
        """Return a new connection for each process, because a dead one stays dead."""
        faults = self._faults or (lambda _request: None)
        self._line = FaultyTransport(self.transport, faults, clock=self.clock)
        self._remote_lines = {
            name: FaultyTransport(recorded, faults, clock=self.clock)
            for name, recorded in self._recorded.items()
        }
        self._remotes = dict(self._remote_lines)
        return self._line

    def _install_webhooks(self, classes: Iterable[type[Controller[Any]]]) -> None:
        """Let the server ask the webhooks of the controllers, in the process."""
        subjects = (*declared_subjects(classes), *self._admissions)
        for configuration in (
            *in_process_configurations(subjects),
            *in_process_policies(subjects),
        ):
            _created(self.server.create(configuration))
        webhooks = WeakMethod(self._webhooks)  # the server is alive until the cluster is ended
        self.server.webhook_client = asking(
            lambda: None if (find := webhooks()) is None else find()
        )

    def _webhooks(self) -> WebhookDispatch | None:
        """Return what answers webhooks: None after a crash, and before the manager has started."""
        webhooks = None if self._line.is_dead else self.manager.webhooks
        return None if webhooks is None else webhooks.dispatch

    def _step(self) -> None:
        """Run all ready callbacks; raise if that never ends, or if the manager has failed."""
        __tracebackhide__ = True
        if not self._wait(quiesced(self.loop)):
            raise NotSettledError(
                f"no time has passed in {TURNS_MAX} turns of the event loop: an object is "
                f"reconciled again and again, or a state never waits.\n{self._in_hand()}"
            )
        self._check_alive()

    def _sleep_until(self, at: float) -> None:
        self._wait(reached(at, self.loop))

    def _in_hand(self) -> str:
        """Describe the objects that are being reconciled or are due now."""
        now = self.loop.time() + _SAME_MOMENT_SECONDS
        return self._describe(
            lambda queue: (*queue.working, *(o.key for o in queue.owed() if o.due_at <= now))
        )

    def _pause(self) -> None:
        self._sleep(1.0)

    def _own_name(self, name: str) -> str:
        return name

    def _due_at(self) -> float | None:
        """Return when the next pass or actor is due, None if there is none."""
        times = list(self._turns_at())
        if not self.manager.is_idle:
            times.append(self.loop.next_timer())
        due = self.server.due()
        if due is not None:
            times.append((due - EPOCH).total_seconds())
        return min(times, default=None)


@lru_cache(maxsize=64)
def _definitions(controllers: tuple[type[Controller[Any]], ...]) -> tuple[Json, ...]:
    """Return the definitions of the controllers' kinds, made once: all tests of a file use the same."""
    return tuple(definitions_of(controllers))


class _ClockedEnvironment(CountingEnvironment):
    """Deterministic uids and names, and the virtual time of the harness."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def now(self) -> Any:
        return self._clock.now()


async def _tending(server: ApiServer) -> Tending:
    """Run the server's actors by timers of the running loop."""
    return Tending(server)


def _created(problem: str) -> None:
    if problem:
        raise MyrmidonError(f"the embedded server refused a manifest: {problem}")
