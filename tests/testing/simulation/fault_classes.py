"""The 36 classes of faults, each with plans that inject it, and the scenario in which it has an effect."""

from typing import Any, NamedTuple

from myrmidon import Controller, ControllerOptions, Done, OutputSet, Result, kinds, state
from myrmidon.testing.simulation import Plan, Scenario
from myrmidon.testing.simulation import actions as a
from myrmidon.testing.simulation import triggers as t
from tests.museum.e06_stale_toggle import LiveToggle
from tests.museum.e11_create_then_record import EXHIBIT as CREATE_THEN_RECORD
from tests.museum.kit import editing
from tests.testing.simulation.things import Thing, Things, child, growth, life, thing


async def pair(sim: Any) -> None:
    """Two replicas, and a Thing that grows."""
    sim.controller(Things, replicas=2)
    made = await sim.user.create(thing())
    await sim.settle()
    await sim.user.patch(made, size=2)
    await sim.settle()


async def several(sim: Any) -> None:
    """Three Things, of which one grows."""
    sim.controller(Things)
    made = await sim.user.create(thing(name="a"))
    for name in ("b", "c"):
        await sim.user.create(thing(name=name))
    await sim.settle()
    await sim.user.patch(made, size=2)
    await sim.settle()


class Applied(Controller[Thing]):
    """Keeps a ConfigMap by server-side apply."""

    manages = (kinds.CONFIG_MAP,)
    options = ControllerOptions(workers=2)

    @state(initial=True, condition="Configured")
    def configured(self, thing: Thing, out: OutputSet) -> Result:
        """There is a ConfigMap with the size."""
        data = {"size": str(thing.spec.size)}
        out.apply(child("ConfigMap", thing.name, data=data), server_side=True, force=True)
        return Done()


async def applied(sim: Any) -> None:
    """A Thing with a ConfigMap that is applied by the server."""
    sim.controller(Applied)
    made = await sim.user.create(thing())
    await sim.settle()
    await sim.user.patch(made, size=2)
    await sim.settle()


class FaultCase(NamedTuple):
    """One way to inject a class of faults."""

    scenario: Any
    plan: Plan


def _case(*faults: tuple[Any, Any], scenario: Any = growth) -> FaultCase:
    return FaultCase(scenario, Plan.of(*faults))


IN_A_NAMESPACE = Scenario(growth, namespace="shop")
EXTERNAL = CREATE_THEN_RECORD.scenario(CREATE_THEN_RECORD.fixed)
OLD_VIEWS = editing({"tls": False}, {"tls": True})(LiveToggle)

CLASSES: dict[str, tuple[FaultCase, ...]] = {
    "F01 a watch closes": (_case((t.event("Thing", 1), a.watch("eof"))),),
    "F02 a watch expires": (
        _case((t.event("Thing", 2), a.watch("410"))),
        _case((t.event("Thing", 1), a.watch("gone"))),
        _case((t.event("ConfigMap", 1), a.watch("empty"))),
    ),
    "F03 stale lists": (
        _case((t.write(1), a.travel("Thing", 1)), (t.write(1), a.crash()), scenario=OLD_VIEWS),
        _case((t.request(4), a.reply(504))),
    ),
    "F04 repeated events": (
        _case((t.event("Secret", 1), a.watch("dup"))),
        _case((t.event("Thing", 3), a.watch("replay"))),
    ),
    "F05 missed events": (
        _case((t.write(1), a.gap("Thing", 30.0))),
        _case((t.event("ConfigMap", 1), a.gap("ConfigMap", 30.0))),
        _case((t.write(2), a.gap("Thing", 40.0)), (t.write(2), a.user("recreate", "Thing/a"))),
    ),
    "F06 a watch falls silent": (_case((t.event("ConfigMap", 1), a.watch("stall"))),),
    "F07 own writes are seen late": (
        _case((t.write(2), a.lag("ConfigMap", 10.0))),
        _case((t.write(1), a.hold("Thing", 20.0))),
    ),
    "F08 refused before the effect": tuple(
        _case((t.write(2), a.reply(code, retry_after=2.0 if code == 429 else 0.0)))
        for code in (429, 500, 503)
    ),
    "F09 applied, but an error arrived": (
        _case((t.write(2), a.applied_then("timeout"))),
        _case((t.write(3), a.applied_then("500"))),
    ),
    "F10 timeout without effect": (_case((t.write(2), a.lost())),),
    "F11 connections break": (
        _case((t.write(2), a.applied_then("reset"))),
        _case((t.event("Thing", 2), a.watch("cut"))),
    ),
    "F12 conflicts": (_case((t.write(2), a.reply(409))),),
    "F13 the name is taken": (
        _case((t.end(), a.monkey("occupy", "ConfigMap/default/a", lasts=60.0))),
        _case((t.write(2), a.applied_then("timeout")), (t.write(2), a.lag("ConfigMap", 20.0))),
    ),
    "F14 the object is gone": (
        _case((t.write(5), a.monkey("delete", "ConfigMap/default/a"))),
        _case((t.write(4), a.user("delete", "Thing/a")), scenario=life),
    ),
    "F15 crashes": (
        _case((t.write(3), a.crash("before"))),
        _case((t.write(3), a.crash("after"))),
        _case((t.event("Secret", 1), a.crash())),
    ),
    "F16 changes while a process is down": (
        _case((t.write(3), a.crash(down=60.0)), (t.write(3), a.user("delete", "Thing/a"))),
        _case((t.write(3), a.crash(down=60.0)), (t.write(3), a.user("recreate", "Thing/a"))),
        _case((t.end(), a.crash(down=10.0)), (t.end(), a.monkey("edit", "ConfigMap/default/a"))),
    ),
    "F17 orderly stops": (
        _case((t.write(2), a.stop())),
        _case((t.write(2), a.slow(6.0)), (t.write(3), a.stop())),
        _case((t.write(3), a.stop()), scenario=pair),
    ),
    "F18 a lease is lost": (
        _case((t.write(2), a.lease("lose")), scenario=pair),
        _case((t.write(2), a.lease("steal")), scenario=pair),
    ),
    "F19 two leaders": (_case((t.write(2), a.pause(30.0)), scenario=pair),),
    "F20 clocks": (
        _case((t.write(1), a.clock(-7200.0))),
        _case((t.write(1), a.drift(0.5)), scenario=pair),
        _case((t.write(1), a.drift(-0.5)), scenario=pair),
    ),
    "F21 others write our fields": (
        _case((t.write(1), a.webhook("mutate", "ConfigMap"))),
        _case((t.write(1), a.webhook("mutate", "ConfigMap")), scenario=applied),
        _case((t.end(), a.monkey("edit", "ConfigMap/default/a")), scenario=applied),
    ),
    "F22 admission refuses": tuple(
        _case((t.write(1), a.webhook(how, "ConfigMap"))) for how in ("reject", "down", "quota")
    ),
    "F23 recreated under the same name": (
        _case((t.write(2), a.user("recreate", "Thing/a"))),
        _case((t.event("ConfigMap", 1), a.monkey("delete", "ConfigMap/default/a"))),
    ),
    "F24 finalizers": (
        _case((t.write(3), a.monkey("hold", "Thing/default/a"))),
        _case((t.write(5), a.monkey("hold", "Thing/default/a")), scenario=life),
        _case((t.write(3), a.monkey("strip", "Thing/default/a"))),
        _case((t.write(1), a.user("delete", "Thing/a"))),
    ),
    "F25 garbage collection": (
        _case((t.write(1), a.gc("lag", 20.0))),
        _case((t.end(), a.gc("restart"))),
        _case((t.write(2), a.user("delete", "Thing/a")), (t.write(2), a.gc("lag", 20.0))),
    ),
    "F26 slow handlers": (
        _case((t.write(1), a.slow(8.0))),
        _case((t.write(1), a.slow(45.0, lasts=100.0))),
    ),
    "F27 large objects, lists and bursts": (
        _case((t.write(2), a.refuse(413, "ConfigMap", lasts=120.0))),
        _case((t.write(5), a.pages("Thing")), (t.write(5), a.crash()), scenario=several),
        _case((t.event("ConfigMap", 1), a.monkey("burst", "ConfigMap/default/a", number=80))),
    ),
    "F28 malformed objects": (
        _case((t.write(2), a.malformed("Thing"))),
        _case((t.write(2), a.malformed("Thing")), (t.write(4), a.crash())),
        _case((t.event("Thing", 2), a.malformed("Thing")), scenario=several),
    ),
    "F29 definitions change": (
        _case((t.write(2), a.crd("absent", "Thing"))),
        _case((t.write(3), a.crd("change", "Thing"))),
        _case((t.end(), a.crd("drop", "Thing"))),
    ),
    "F30 rights are revoked": (
        _case((t.write(1), a.rbac("ConfigMap", "create"))),
        _case((t.write(2), a.rbac("", "", lasts=60.0)), (t.event("Thing", 2), a.watch("410"))),
        _case((t.write(2), a.refuse(401, lasts=60.0))),
    ),
    "F31 the namespace goes": (_case((t.write(4), a.namespace()), scenario=IN_A_NAMESPACE),),
    "F32 drift": (
        _case((t.event("ConfigMap", 1), a.monkey("delete", "ConfigMap/default/a"))),
        _case((t.event("ConfigMap", 1), a.monkey("edit", "ConfigMap/default/a"))),
    ),
    "F33 a child becomes invisible": (
        _case((t.event("ConfigMap", 1), a.monkey("orphan", "ConfigMap/default/a"))),
        _case((t.end(), a.crash()), (t.end(), a.monkey("orphan", "ConfigMap/default/a"))),
    ),
    "F34 external systems": tuple(
        _case((t.write(verb="create", kind="cloud"), action), scenario=EXTERNAL)
        for action in (a.crash("after"), a.applied_then("timeout"), a.lost(), a.reply(503))
    ),
    "F35 passes without a reason": (
        _case((t.write(2), a.spurious())),
        _case((t.time(0.0), a.schedule("pct", 1)), scenario=several),
        _case((t.time(0.0), a.schedule("shuffle", 1)), scenario=several),
    ),
    "F36 a part stays broken": (
        _case((t.write(2), a.outage("replica")), scenario=pair),
        _case((t.write(3), a.outage("object", "Thing/b")), scenario=several),
        _case((t.write(1), a.outage("kind", "Secret")), scenario=several),
    ),
}
