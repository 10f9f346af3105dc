# ruff: noqa: PLR0917 - Hypothesis passes arguments by name
"""Random sessions on the embedded server and on a real one: every answer and every event agree."""

from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from myrmidon.apiserver.server import ApiServer
from tests.cluster.controlplane.controlplane import ControlPlane
from tests.cluster.controlplane.processes import wait_until
from tests.cluster.twins import Ask, Twins

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMES = st.sampled_from(["a", "b", "c"])
KINDS = st.sampled_from(["ConfigMap", "Widget"])
MANAGERS = st.sampled_from(["", "one", "two"])
LABELS = st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "2"]), max_size=2)
FINALIZERS = st.lists(
    st.sampled_from(["example.com/f", "example.com/g", "plain"]), max_size=2, unique=True
)
SCALARS = st.none() | st.integers(0, 2) | st.sampled_from(["s", "t"]) | st.just(1.5)
SPECS = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("klm"), inner, max_size=2)
    ),
    max_leaves=4,
)
DATA = st.dictionaries(st.sampled_from("klm"), st.sampled_from(["v", "w"]), max_size=2)
SELECTORS = st.sampled_from(["", "x=1", "x!=1", "x", "!x", "x in (1,2),y"])
VERSIONS = st.sampled_from(["none", "current", "stale", "0"])
STRATEGIC = "application/strategic-merge-patch+json"


class Session(RuleBasedStateMachine):
    """One user of both servers, in a namespace of their own."""

    plane: ControlPlane
    group: str

    @initialize()
    def begin(self) -> None:
        """A fresh namespace on the real server, a fresh embedded server."""
        self.namespace = f"twins-{uuid4().hex[:8]}"
        embedded = ApiServer()
        self.twins = Twins(self.plane, embedded)
        assert embedded.create(definition(self.group)) == ""
        self._ask(Ask("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}}))
        self.since = [self._versions_of_list(kind) for kind in ("ConfigMap", "Widget")]

    def _path(self, kind: str, name: str = "") -> str:
        root = "/api/v1" if kind == "ConfigMap" else f"/apis/{self.group}/v1"
        path = f"{root}/namespaces/{self.namespace}/{kind.lower()}s"
        return f"{path}/{name}" if name else path

    def _object(self, kind: str, name: str, content: Any, **metadata: Any) -> dict[str, Any]:
        api_version = "v1" if kind == "ConfigMap" else f"{self.group}/v1"
        meta = {"name": name} | {key: value for key, value in metadata.items() if value}
        field = "data" if kind == "ConfigMap" else "spec"
        return {"apiVersion": api_version, "kind": kind, "metadata": meta, field: content}

    def _ask(self, real: Ask, embedded: Ask | None = None) -> None:
        theirs, _, differences = self.twins.ask(real, embedded)
        assert not differences, f"{real}\n{'; '.join(differences)}\n{theirs}"

    def _versions_of_list(self, kind: str) -> tuple[str, str]:
        theirs, ours, _ = self.twins.ask(Ask("GET", self._path(kind)))
        return (
            theirs.body["metadata"]["resourceVersion"],
            ours.body["metadata"]["resourceVersion"],
        )

    def _versions(self, kind: str, name: str, which: str) -> tuple[str, str]:
        """What each server calls a version of an object."""
        if which in {"none", "0"}:
            return ("", "") if which == "none" else ("0", "0")
        theirs, ours, _ = self.twins.ask(Ask("GET", self._path(kind, name)))
        if theirs.status != 200 or which == "stale":
            return "1", "1"
        return (
            theirs.body["metadata"]["resourceVersion"],
            ours.body["metadata"]["resourceVersion"],
        )

    @rule(kind=KINDS, name=NAMES, data=DATA, spec=SPECS, labels=LABELS, finalizers=FINALIZERS,
          manager=MANAGERS, dry=st.booleans())  # fmt: skip
    def create(
        self, kind: str, name: str, data: Any, spec: Any, labels: Any, finalizers: Any,
        manager: str, dry: bool,
    ) -> None:  # fmt: skip
        """POST."""
        content = data if kind == "ConfigMap" else spec
        body = self._object(kind, name, content, labels=labels, finalizers=finalizers)
        query = options(manager=manager, dry=dry)
        self._ask(Ask("POST", self._path(kind), body, query=query))

    @rule(kind=KINDS, name=NAMES, data=DATA, spec=SPECS, labels=LABELS, which=VERSIONS,
          finalizers=FINALIZERS, manager=MANAGERS)  # fmt: skip
    def replace(
        self, kind: str, name: str, data: Any, spec: Any, labels: Any, which: str,
        finalizers: Any, manager: str,
    ) -> None:  # fmt: skip
        """PUT, with the right version, a wrong one, or none."""
        content = data if kind == "ConfigMap" else spec
        asks = []
        for version in self._versions(kind, name, which):
            body = self._object(
                kind, name, content, labels=labels, finalizers=finalizers, resourceVersion=version
            )
            query = options(manager=manager)
            asks.append(Ask("PUT", self._path(kind, name), body, query=query))
        self._ask(*asks)

    @rule(kind=KINDS, name=NAMES, data=DATA, spec=SPECS, labels=st.none() | LABELS,
          finalizers=st.none() | FINALIZERS, manager=MANAGERS, dry=st.booleans(),
          strategic=st.booleans())  # fmt: skip
    def merge(
        self, kind: str, name: str, data: Any, spec: Any, labels: Any, finalizers: Any,
        manager: str, dry: bool, strategic: bool,
    ) -> None:  # fmt: skip
        """PATCH with a merge patch of either kind."""
        content = {"data": data} if kind == "ConfigMap" else {"spec": spec}
        body = content | {"metadata": {"labels": labels, "finalizers": finalizers}}
        media = STRATEGIC if strategic else "application/merge-patch+json"
        query = options(manager=manager, dry=dry)
        self._ask(Ask("PATCH", self._path(kind, name), body, media, query))

    @rule(kind=KINDS, name=NAMES, operations=st.lists(
        st.fixed_dictionaries({
            "op": st.sampled_from(["add", "remove", "replace", "test"]),
            "path": st.sampled_from(["/data/k", "/spec/k", "/spec", "/metadata/labels", "/spec/k/0",
                                     "/metadata/labels/x", "/metadata/finalizers/0"]),
            "value": st.sampled_from(["v", {"k": ["v"]}, {"x": "1"}, None]),
        }), max_size=2))  # fmt: skip
    def patch(self, kind: str, name: str, operations: Any) -> None:
        """PATCH with a JSON patch."""
        media = "application/json-patch+json"
        self._ask(Ask("PATCH", self._path(kind, name), operations, media))

    @rule(kind=KINDS, name=NAMES, data=DATA, spec=st.dictionaries(st.sampled_from("kl"), SPECS),
          labels=LABELS, manager=st.sampled_from(["one", "two"]), force=st.booleans())  # fmt: skip
    def apply(
        self, kind: str, name: str, data: Any, spec: Any, labels: Any, manager: str, force: bool
    ) -> None:
        """PATCH with a configuration."""
        content = data if kind == "ConfigMap" else spec
        body = self._object(kind, name, content, labels=labels)
        query = options(manager=manager) + ((("force", "true"),) if force else ())
        media = "application/apply-patch+yaml"
        self._ask(Ask("PATCH", self._path(kind, name), body, media, query))

    @rule(name=NAMES, status=SPECS, spec=SPECS, labels=LABELS, manager=MANAGERS)
    def report(self, name: str, status: Any, spec: Any, labels: Any, manager: str) -> None:
        """PATCH of the status, which has no say in the rest."""
        body = {"status": status, "spec": spec, "metadata": {"labels": labels}}
        path = f"{self._path('Widget', name)}/status"
        media = "application/merge-patch+json"
        self._ask(Ask("PATCH", path, body, media, options(manager=manager)))

    @rule(kind=KINDS, name=NAMES, which=VERSIONS, dry=st.booleans())
    def delete(self, kind: str, name: str, which: str, dry: bool) -> None:
        """DELETE, perhaps of a certain version only."""
        asks = []
        for version in self._versions(kind, name, which):
            body: dict[str, Any] = {"dryRun": ["All"] if dry else []}
            if version not in {"", "0"}:
                body["preconditions"] = {"resourceVersion": version}
            asks.append(Ask("DELETE", self._path(kind, name), body))
        theirs, ours, differences = self.twins.ask(*asks)
        stale = theirs.status == ours.status == 409  # the text has the numbers of versions in it
        assert stale or not differences, f"{asks[0]}\n{theirs}"

    @rule(kind=KINDS, selector=SELECTORS, limit=st.sampled_from(["", "1", "2"]))
    def look(self, kind: str, selector: str, limit: str) -> None:
        """List."""
        query = [("labelSelector", selector)] if selector else []
        query += [("limit", limit)] if limit else []
        self._ask(Ask("GET", self._path(kind), query=tuple(query)))

    @rule(kind=KINDS, name=NAMES)
    def read(self, kind: str, name: str) -> None:
        """GET."""
        self._ask(Ask("GET", self._path(kind, name)))

    @rule(kind=st.sampled_from([0, 1]), selector=SELECTORS)
    def replay(self, kind: int, selector: str) -> None:
        """Watch from the beginning: all events so far, as they were."""
        name = ("ConfigMap", "Widget")[kind]
        asks = []
        for version in self.since[kind]:
            query = [("watch", "1"), ("resourceVersion", version), ("timeoutSeconds", "1")]
            query += [("labelSelector", selector)] if selector else []
            asks.append(Ask("GET", self._path(name), query=tuple(query)))
        self._ask(*asks)

    def teardown(self) -> None:
        """Leave nothing on the real server."""
        if hasattr(self, "namespace"):
            self.plane.client().delete(f"/api/v1/namespaces/{self.namespace}")


def options(*, manager: str = "", dry: bool = False) -> tuple[tuple[str, str], ...]:
    """The query of a write."""
    query = (("fieldManager", manager),) if manager else ()
    return (*query, ("dryRun", "All")) if dry else query


def definition(group: str) -> dict[str, Any]:
    """A resource in which anything goes, with a status of its own."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": free, "status": free}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
        },
    }


@pytest.fixture(scope="module")
def group(controlplane: ControlPlane) -> str:
    """A group of widgets on the real server."""
    name = f"g{uuid4().hex[:8]}.example.com"
    client = controlplane.client()
    assert client.post(CRDS, definition(name)).status == 201
    wait_until(lambda: client.status(f"/apis/{name}/v1/widgets") == 200, "the widgets are served")
    return name


def test_the_embedded_server_is_the_twin_of_the_real_one(
    controlplane: ControlPlane, group: str
) -> None:
    """A few dozen random sessions; each difference found is a bug here, or a fact to record."""
    session = type("BoundSession", (Session,), {"plane": controlplane, "group": group})
    run_state_machine_as_test(
        session,
        settings=settings(
            max_examples=25,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
