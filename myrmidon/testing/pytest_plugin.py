"""The pytest plugin: the fixture ``harness``, which starts a server and controllers.

    def test_an_application_becomes_ready(harness):
        cluster = harness(WebApps())
        cluster.apply(WebApp(name="shop", spec=WebAppSpec(image="shop:1")))
        cluster.settle()
        assert cluster.ready(WebApp, "shop")
        cluster.at_rest()

``harness(...)`` returns a ``Cluster`` and closes it when the test is over.  By default it is a
``Harness``: an embedded server, in virtual time.  With ``--myrmidon-kubeconfig FILE``, or if a
conftest overrides the fixture ``myrmidon_kubeconfig``, it is a ``LiveCluster``: the API server of
the kubeconfig, in real time.

A function with the decorator ``scenario`` is a test of its own: it is explored with its budget, and a
failure is the story of the shortest plan that was found.

    @scenario(budget="ci")
    async def test_web_apps(sim): ...

``--sim-budget`` replaces the budget, ``--sim-jobs`` uses several processes, ``--sim-report DIR`` stores
failures as artefacts, and ``--sim-replay FILE`` runs only what an artefact says.

Every run of pytest loads this module, so it imports the framework only when a test needs it.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

if TYPE_CHECKING:
    from myrmidon.testing.harness.cluster import Cluster

_SIMULATION = "myrmidon.testing.simulation"

MakeCluster: TypeAlias = "Callable[..., Cluster]"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--myrmidon-kubeconfig``."""
    parser.getgroup("myrmidon").addoption(
        "--myrmidon-kubeconfig",
        metavar="FILE",
        help="run tests that use `harness` on this cluster instead of an embedded server; use a"
        " cluster for tests, because the controllers reconcile all objects of their kinds",
    )
    group = parser.getgroup("myrmidon")
    group.addoption(
        "--sim-budget", metavar="BUDGET", help="ci, nightly, or a duration: 10s, 2m, 1h"
    )
    group.addoption("--sim-jobs", metavar="N", type=int, default=1, help="processes per scenario")
    group.addoption("--sim-report", metavar="DIR", help="where failures are stored as artefacts")
    group.addoption("--sim-replay", metavar="FILE", help="run only what this artefact says")


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> "ScenarioItem | None":
    """Collect scenarios; they are recognised without an import of the simulator."""
    if name.startswith("test") and type(obj).__module__.startswith(_SIMULATION):
        return ScenarioItem.from_parent(collector, name=name, scenario=obj)
    return None


class ScenarioItem(pytest.Item):
    """A scenario as a test."""

    def __init__(self, *, scenario: Any, **options: Any) -> None:
        super().__init__(**options)
        self._scenario = scenario

    def runtest(self) -> None:
        """Explore the scenario, or replay an artefact."""
        __tracebackhide__ = True
        from myrmidon.testing.simulation import artefact, explore  # noqa: PLC0415

        options = self.config.option
        if options.sim_replay:
            artefact.replay(self._scenario, artefact.load(Path(options.sim_replay))).check()
            return
        report = explore(self._scenario, budget=options.sim_budget, jobs=options.sim_jobs)
        self.add_report_section("call", "simulation", str(report))
        for number, failure in enumerate(report.failures if options.sim_report else (), 1):
            if failure.result is not None:
                path = Path(options.sim_report) / f"{self.name}-{number}.json"
                artefact.store(failure, path, self.nodeid)
        report.check()

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Show the story alone, without the traceback of the simulator."""
        if type(excinfo.value).__name__ == "SimulationError":
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the scenario is."""
        line = getattr(getattr(self._scenario.body, "__code__", None), "co_firstlineno", 1)
        return self.path, line - 1, self.name


@pytest.fixture
def myrmidon_kubeconfig(request: pytest.FixtureRequest) -> str | None:
    """Return the kubeconfig of the cluster for tests, None for an embedded server; overridable."""
    chosen: str | None = request.config.getoption("--myrmidon-kubeconfig")
    return chosen


@pytest.fixture
def myrmidon_kubelet() -> bool:
    """Whether the cluster has no nodes, so that the kit must report Deployments as available."""
    return False


@pytest.fixture
def harness(myrmidon_kubeconfig: Any, myrmidon_kubelet: bool) -> Iterator[MakeCluster]:
    """Return a function that makes clusters; all are closed when the test is over."""
    made: list[Cluster] = []

    def make(*controllers: Any, **options: Any) -> "Cluster":
        cluster: Cluster
        if myrmidon_kubeconfig is None:
            from myrmidon.testing.harness.harness import Harness  # noqa: PLC0415

            cluster = Harness(*controllers, **options)
        else:
            from myrmidon.testing.harness.live import LiveCluster  # noqa: PLC0415

            options.setdefault("kubelet", myrmidon_kubelet)
            cluster = LiveCluster(*controllers, kubeconfig=myrmidon_kubeconfig, **options)
        made.append(cluster)
        return cluster

    make.made = made  # type: ignore[attr-defined]  # for the report of a failed test
    yield make
    for cluster in reversed(made):
        cluster.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """Add to the report of a failed test which objects are not Ready, and why."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    made = getattr(getattr(item, "funcargs", {}).get("harness"), "made", None)
    if report.when != "call" or not report.failed or not made:
        return
    from myrmidon.testing.harness.failures import NotSettledError  # noqa: PLC0415

    if call.excinfo is None or issubclass(call.excinfo.type, NotSettledError):
        return  # its message contains the objects already
    for cluster in made:
        with suppress(Exception):  # the test's own error matters more
            if found := cluster.explain():
                report.sections.append(("objects that are not Ready", found))


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain a failed ``assert cluster.writes == []`` by the fields that each write changed."""
    if op != "==" or not (isinstance(left, list) or isinstance(right, list)):
        return None
    import sys  # noqa: PLC0415

    if "myrmidon.testing.harness.recording" not in sys.modules:
        return None
    from myrmidon.testing.harness.failures import compared  # noqa: PLC0415

    return compared(left, right)
