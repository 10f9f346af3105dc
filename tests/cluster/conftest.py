"""Fixtures for tests against a real API server."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.fixtures import controlplane
from tests.cluster.lives import Life, definition
from tests.cluster.running import Running, running

__all__ = ["controlplane"]

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all tests below this folder, before `-m` looks at the marks."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("cluster")


@pytest.fixture(scope="module")
def plane(controlplane: ControlPlane) -> Iterator[ControlPlane]:
    """A control plane with the definition of web applications."""
    with definition(controlplane):
        yield controlplane


@pytest.fixture
def manager(life: Life, kubeconfig: Path) -> Iterator[Running]:
    """A manager whose web application has converged; ``life`` is a fixture of the test's module."""
    with running(life, kubeconfig) as found:
        yield found


@pytest.fixture
def kubeconfig(controlplane: ControlPlane) -> Path:
    """The admin's kubeconfig."""
    return controlplane.kubeconfig


@pytest.fixture
def namespace(controlplane: ControlPlane) -> Iterator[str]:
    """Return a namespace for the test; it is deleted without waiting."""
    name = f"test-{uuid4().hex[:8]}"
    made = controlplane.client().post("/api/v1/namespaces", {"metadata": {"name": name}})
    assert made.status == 201, made.body
    yield name
    controlplane.client().delete(f"/api/v1/namespaces/{name}")
