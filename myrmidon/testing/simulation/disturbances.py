"""Disturbances: the faults of a plan that change the world around a request.

Each function lets one kind of fault happen.  ``run.director.mark(index)`` is called when the fault has
an effect; a fault that lasts calls it when it first meets a request or an event.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeAlias

from myrmidon.api.objects.accessors import Json
from myrmidon.testing.simulation.actions import Action, thawed
from myrmidon.testing.simulation.cluster_faults import change_definition, store_malformed
from myrmidon.testing.simulation.meddling import MERGE, meddle
from myrmidon.testing.simulation.outages import break_part
from myrmidon.testing.simulation.stage import Stage, StageProcess
from myrmidon.testing.simulation.staleness import StaleView

Disturb: TypeAlias = Callable[[Stage, int, Action, StageProcess], None]

_LEASES = "/apis/coordination.k8s.io/v1"
MONKEY = "monkey"


def disturb(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    """Let a fault happen now."""
    _ALL[action.kind](run, index, action, process)


def _crash(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    run.director.mark(index)
    process.crash(down=action.seconds)


def _lag(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    for kind, view in _views(process, action):
        del kind
        view.delay(action.seconds, run.loop.time() + action.lasts)
        view.noticed = lambda: run.director.mark(index)


def _hold(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    for kind, view in _views(process, action):
        del kind
        view.hold(run.server.store.revision, run.loop.time() + action.seconds)
        view.noticed = lambda: run.director.mark(index)


def _views(process: StageProcess, action: Action) -> list[tuple[str, StaleView]]:
    if action.target:
        return [(action.target, process.view(action.target))]
    return process.views()


def _travel(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    process.travel(action.target, action.number, action.lasts, lambda: run.director.mark(index))


def _watch(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    process.spoil_next_watch(action.target, action.how, lambda: run.director.mark(index))


def _pause(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    run.director.mark(index)
    process.pause(action.seconds)


def _slow(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    run.director.mark(index)
    process.slow_down(action.seconds, run.loop.time() + action.lasts)


def _clock(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    run.director.mark(index)
    if action.how == "drift":
        process.clock.drift(action.seconds)
    else:
        process.clock.jumped_seconds += action.seconds


def _lease(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    del process
    for lease in run.world.list("Lease"):
        meta = lease["metadata"]
        path = f"{_LEASES}/namespaces/{meta['namespace']}/leases/{meta['name']}"
        run.director.mark(index)
        if action.how == "lose":
            run.meddle("DELETE", path)
        else:
            taken = {"spec": {"holderIdentity": "an-intruder", "leaseDurationSeconds": 15}}
            run.meddle("PATCH", path, taken, MERGE)


def _webhook(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    del process
    server = run.template.server
    server.ask_webhook(action.how, action.target, lambda: run.director.mark(index))
    run.later(action.lasts, lambda: server.ask_webhook(""))


def _user(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    del process
    if run.actor.wants(action.target):
        run.director.mark(index)
        body: Json = thawed(action.body) or {}
        run.spawn(run.actor.injected(action.how, action.target, body))


def _monkey(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    del process
    meddle(run, index, action)


def _rbac(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    until = run.loop.time() + action.lasts
    process.refuse(until, action.target, action.how, lambda: run.director.mark(index))


def _refuse(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    until = run.loop.time() + action.lasts
    mark = lambda: run.director.mark(index)  # noqa: E731 - a callback
    process.refuse(until, action.target, "", mark, code=int(action.how))


def _gap(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    now = run.loop.time()
    process.interruptions.cut(
        action.target, now, now + action.seconds, lambda: run.director.mark(index)
    )
    process.view(action.target).wake()


def _pages(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    process.interruptions.split_list(action.target, lambda: run.director.mark(index))


def _stop(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    run.director.mark(index)
    process.stop(action.seconds)


def _spurious(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    del action
    run.director.mark(index)
    process.reconcile_all()


def _malformed(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    del process
    store_malformed(run, index, action)


def _crd(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    del process
    change_definition(run, index, action)


def _schedule(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    del process
    run.schedule.begin(
        action.how, action.number, int(action.seconds), lambda: run.director.mark(index)
    )


def _namespace(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    del action, process
    if run.namespace != "default":  # which the server never deletes
        run.director.mark(index)
        run.meddle("DELETE", f"/api/v1/namespaces/{run.namespace}")


def _gc(run: Stage, index: int, action: Action, process: StageProcess) -> None:
    del process
    run.director.mark(index)
    if action.how == "lag":
        run.collector.late_until = run.clock.now() + timedelta(seconds=action.seconds)
    else:
        run.collector.restart(run.server, run.rng)
    run.server.settle()


_ALL: dict[str, Disturb] = {
    "crash": _crash,
    "lag": _lag,
    "hold": _hold,
    "travel": _travel,
    "watch": _watch,
    "pause": _pause,
    "slow": _slow,
    "clock": _clock,
    "lease": _lease,
    "webhook": _webhook,
    "user": _user,
    "monkey": _monkey,
    "rbac": _rbac,
    "refuse": _refuse,
    "gap": _gap,
    "pages": _pages,
    "stop": _stop,
    "spurious": _spurious,
    "malformed": _malformed,
    "crd": _crd,
    "outage": break_part,
    "schedule": _schedule,
    "namespace": _namespace,
    "gc": _gc,
    "lost": lambda _run, _index, _action, _process: None,  # only at a request
    "applied_then": lambda _run, _index, _action, _process: None,
    "reply": lambda _run, _index, _action, _process: None,
}
