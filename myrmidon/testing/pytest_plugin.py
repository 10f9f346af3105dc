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

``--sim-budget`` replaces the budget, ``--sim-seeds`` and ``--sim-depth`` replace parts of it,
``--sim-faults`` chooses the faults, and ``--sim-jobs`` uses several processes.  Failures are stored as
artefacts in ``--sim-report DIR`` together with the coverage, by default in the cache of pytest; ``--sim-replay FILE`` runs only
what an artefact says.  ``--sim-min-cells 95%`` fails if too few faults were tried.  The fixture ``sim`` runs a scenario once, without exploration.

Every run of pytest loads this module, so it imports the framework only when a test needs it.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

if TYPE_CHECKING:
    from myrmidon.testing.campaigns.coverage import Coverage
    from myrmidon.testing.harness.cluster import Cluster
    from myrmidon.testing.simulation.result import SimulationResult

_SIMULATION = "myrmidon.testing.simulation"

MakeCluster: TypeAlias = "Callable[..., Cluster]"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--myrmidon-kubeconfig`` and the options of scenarios."""
    parser.getgroup("myrmidon").addoption(
        "--myrmidon-kubeconfig",
        metavar="FILE",
        help="run tests that use `harness` on this cluster instead of an embedded server; use a"
        " cluster for tests, because the controllers reconcile all objects of their kinds",
    )
    add = parser.getgroup("myrmidon").addoption
    add("--sim-budget", metavar="BUDGET", help="ci, nightly, or a duration: 10s, 2m, 1h")
    add("--sim-seeds", metavar="N", type=int, help="the number of random plans per scenario")
    add("--sim-depth", metavar="N", type=int, choices=(1, 2), help="faults per enumerated plan")
    add("--sim-faults", metavar="KINDS", default="", help="only these faults, as crash,stale")
    add("--sim-jobs", metavar="N", type=int, default=1, help="processes per scenario")
    add("--sim-report", metavar="DIR", help="where failures are stored as artefacts")
    add("--sim-min-cells", metavar="SHARE", help="fail if less of the coverage is filled: 95%%")
    add("--sim-replay", metavar="FILE", help="run only what this artefact says")


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
        self._replays: list[str] = []

    def runtest(self) -> None:
        """Explore the scenario, or replay an artefact."""
        __tracebackhide__ = True
        options = self.config.option
        if options.sim_replay:
            self._replay(Path(options.sim_replay))
            return
        from myrmidon.testing.campaigns.campaign import Campaign, CampaignOptions  # noqa: PLC0415
        from myrmidon.testing.campaigns.report_files import write_failures  # noqa: PLC0415

        covers = bool(options.sim_min_cells or options.sim_report)

        chosen = CampaignOptions(
            budget=options.sim_budget or self._scenario.budget,
            seeds=options.sim_seeds,
            depth=options.sim_depth,
            faults=options.sim_faults,
        )
        campaign = Campaign(self._scenario, chosen, covers=covers)
        report = campaign.explore(options.sim_jobs, shrink=True)
        self.add_report_section("call", "simulation", str(report))
        folder = self._folder()
        if report.failures and folder is not None:
            files = write_failures(
                report.failures, folder, self.name, self.nodeid, command=self._command
            )
            self._replays = [stored.replay for stored in files]
        report.check()
        if silent := campaign.never_fired():
            pytest.fail(f"nothing was tried: no fault of {', '.join(silent)} had an effect")
        self._check_coverage(campaign.coverage)

    def _check_coverage(self, coverage: "Coverage | None") -> None:
        """Store the coverage, and fail if too little was tried."""
        __tracebackhide__ = True
        if coverage is None:
            return
        from myrmidon.testing.campaigns.coverage import least_share  # noqa: PLC0415
        from myrmidon.testing.campaigns.coverage_views import coverage_text  # noqa: PLC0415
        from myrmidon.testing.campaigns.report_files import write_coverage  # noqa: PLC0415

        options = self.config.option
        if options.sim_report:
            write_coverage(coverage, Path(options.sim_report), self.name)
        if coverage.share < least_share(options.sim_min_cells or "0"):
            pytest.fail(coverage_text(coverage), pytrace=False)

    def _replay(self, path: Path) -> None:
        __tracebackhide__ = True
        from myrmidon.testing.simulation import artefact  # noqa: PLC0415

        document = artefact.load(path)
        place = str(document.get("scenario", ""))
        if "::" in place and place.rpartition("::")[2] != self.name:
            pytest.skip(f"the artefact is one of {place}")
        artefact.replay(self._scenario, document).check()

    def _folder(self) -> Path | None:
        """Return where failures are stored: as the option says, or in the cache of pytest."""
        if self.config.option.sim_report:
            return Path(self.config.option.sim_report)
        cache = getattr(self.config, "cache", None)
        return None if cache is None else Path(cache.mkdir("simulation"))

    def _command(self, artefact: Path) -> str:
        import shlex  # noqa: PLC0415

        with suppress(ValueError):
            artefact = artefact.relative_to(Path.cwd())
        return shlex.join(["pytest", self.nodeid, f"--sim-replay={artefact}"])

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Show the story alone, without the traceback of the simulator."""
        if type(excinfo.value).__name__ == "SimulationError":
            from myrmidon.testing.campaigns.failure_text import failures_text  # noqa: PLC0415

            return failures_text(excinfo.value.failures, self._replays)
        if type(excinfo.value).__name__ == "UsageError":
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the scenario is."""
        line = getattr(getattr(self._scenario.body, "__code__", None), "co_firstlineno", 1)
        return self.path, line - 1, self.name


@pytest.fixture
def sim() -> "Callable[..., SimulationResult]":
    """Return a function that runs a scenario once in virtual time, and checks it.

    ``sim(body)`` runs a coroutine function or a scenario without faults; ``plan=`` and ``seed=`` as for
    ``simulate``.
    """

    def run_once(target: Any, workload: Any = (), **options: Any) -> "SimulationResult":
        __tracebackhide__ = True
        from myrmidon.testing.simulation.simulating import simulate  # noqa: PLC0415

        return simulate(target, workload, **options).check()

    return run_once


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
