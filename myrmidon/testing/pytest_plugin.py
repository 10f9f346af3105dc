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

Every run of pytest loads this module, so it imports the framework only when a test needs it.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

if TYPE_CHECKING:
    from myrmidon.testing.harness.cluster import Cluster

MakeCluster: TypeAlias = "Callable[..., Cluster]"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--myrmidon-kubeconfig``."""
    parser.getgroup("myrmidon").addoption(
        "--myrmidon-kubeconfig",
        metavar="FILE",
        help="run tests that use `harness` on this cluster instead of an embedded server; use a"
        " cluster for tests, because the controllers reconcile all objects of their kinds",
    )


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
