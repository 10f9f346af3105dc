"""Discovery: which kinds a server has."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.api.objects.refs import Kind
from myrmidon.api.requests.transport import HttpResponse
from myrmidon.errors import NotFoundError, UnreachableError
from myrmidon.io.client import Client
from myrmidon.io.discovery import Discovery
from tests.io.fakes import Answer, FakeClock, ScriptedTransport, answer
from tests.io.watch.poison import json_values, spoiled

WIDGETS = answer(
    {
        "kind": "APIResourceList",
        "resources": [
            {
                "name": "widgets",
                "singularName": "widget",
                "kind": "Widget",
                "namespaced": True,
                "shortNames": ["wd"],
                "verbs": ["get", "list"],
            },
            {"name": "widgets/status", "kind": "Widget", "namespaced": True},
        ],
    }
)
MISSING = HttpResponse(404, (), b"404 page not found\n")
WIDGET = Kind("demo.dev", "v1", "Widget", "widgets")


def aggregated(group: str, plural: str, kind: str, scope: str, *short: str) -> dict[str, Any]:
    """Build one group of an aggregated discovery document."""
    resource = {
        "resource": plural,
        "responseKind": {"kind": kind, "group": "", "version": ""},
        "scope": scope,
        "singularResource": kind.lower(),
        "shortNames": list(short),
        "verbs": ["list"],
        "subresources": [{"subresource": "status"}],
    }
    return {"metadata": {"name": group}, "versions": [{"version": "v1", "resources": [resource]}]}


def groups(*items: dict[str, Any]) -> HttpResponse:
    """Build a response of aggregated discovery."""
    return answer({"kind": "APIGroupDiscoveryList", "items": list(items)})


def discovery(*script: Answer) -> tuple[Discovery, ScriptedTransport, FakeClock]:
    """Return a discovery whose responses come from a script."""
    transport, clock = ScriptedTransport(*script), FakeClock()
    return Discovery(Client(transport, clock=clock), clock=clock), transport, clock


def test_what_was_found_is_remembered() -> None:
    """One request covers all kinds of a version."""
    it, transport, _ = discovery(WIDGETS)
    for _ in range(3):
        assert asyncio.run(it.kind_of("demo.dev/v1", "Widget")) == WIDGET
    assert [request.path for request in transport.requests] == ["/apis/demo.dev/v1"]


def test_what_was_not_found_is_asked_again() -> None:
    """A CRD may appear at any time, so absence is not cached."""
    it, _, _ = discovery(MISSING, answer({"kind": "APIResourceList", "resources": []}), WIDGETS)
    for _ in range(2):
        with pytest.raises(NotFoundError):
            asyncio.run(it.kind_of("demo.dev/v1", "Widget"))
    assert asyncio.run(it.kind_of("demo.dev/v1", "Widget")) == WIDGET


def test_waiting_for_a_kind() -> None:
    """F29: with growing pauses, also while the server is down."""
    it, _, clock = discovery(MISSING, UnreachableError("refused"), MISSING, WIDGETS)
    assert asyncio.run(it.wait_kind("demo.dev/v1", "Widget")) == WIDGET
    assert clock.slept == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("name", ["no", "nodes", "node", "Node"])
def test_people_have_many_names_for_a_kind(name: str) -> None:
    """As in kubectl: plural, singular, short name or kind; two requests for everything."""
    it, transport, _ = discovery(
        groups(aggregated("", "nodes", "Node", "Cluster", "no")),
        groups(aggregated("demo.dev", "widgets", "Widget", "Namespaced", "wd")),
    )
    found = asyncio.run(it.find(name))
    assert found.kind == Kind("", "v1", "Node", "nodes", namespaced=False)
    assert found.subresources == ("status",)
    assert [request.path for request in transport.requests] == ["/api", "/apis"]


def test_a_group_tells_namesakes_apart() -> None:
    """``widgets.other.dev`` is not ``widgets.demo.dev``."""
    it, _, _ = discovery(
        groups(),
        groups(
            aggregated("demo.dev", "widgets", "Widget", "Namespaced"),
            aggregated("other.dev", "widgets", "Widget", "Cluster"),
        ),
    )
    assert asyncio.run(it.find("widgets.other.dev")).kind.group == "other.dev"
    assert asyncio.run(it.find("widget")).kind.group == "demo.dev"


def test_unknown_names_are_an_error() -> None:
    """It is looked up again next time."""
    it, _, _ = discovery(groups(), groups())
    with pytest.raises(NotFoundError, match="no kind called 'nope'"):
        asyncio.run(it.find("nope"))


def test_old_servers_are_asked_version_by_version() -> None:
    """A version whose backend is down is left out, as in kubectl."""
    it, _, _ = discovery(
        answer({"kind": "APIVersions", "versions": ["v1"]}),
        answer({"resources": [{"name": "pods", "kind": "Pod", "namespaced": True}]}),
        answer(
            {
                "kind": "APIGroupList",
                "groups": [
                    {"versions": [{"groupVersion": "down.dev/v1"}]},
                    {"versions": [{"groupVersion": "demo.dev/v1"}]},
                ],
            }
        ),
        answer({"kind": "Status"}, 500),
        WIDGETS,
    )
    found = asyncio.run(it.kinds())
    assert [served.kind.kind for served in found] == ["Pod", "Widget"]
    assert found[1].subresources == ("status",)


def test_forgetting_asks_again() -> None:
    """After a CRD has changed its scope or names."""
    it, transport, _ = discovery(WIDGETS, WIDGETS)
    asyncio.run(it.kind_of("demo.dev/v1", "Widget"))
    it.invalidate()
    asyncio.run(it.kind_of("demo.dev/v1", "Widget"))
    assert len(transport.requests) == 2


@settings(deadline=None)
@given(data=st.data())
def test_no_answer_of_any_shape_breaks_discovery(data: st.DataObject) -> None:
    """K7: unreadable entries are left out; a missing kind is not found."""
    bodies = {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupDiscoveryList", "items": [{"versions": [{"resources": [{}]}]}]},
        "/api/v1": {"resources": [{"name": "pods", "kind": "Pod", "verbs": ["get"]}]},
    }

    class Spoiled:
        async def fetch_json(self, path: str, *, accept: str = "") -> Any:
            del accept
            body = spoiled(bodies.get(path, {}), data.draw(json_values()), data)
            return body if isinstance(body, dict) else {}

    async def main() -> None:
        discovery = Discovery(Spoiled())  # type: ignore[arg-type]
        with suppress(NotFoundError):
            await discovery.kind_of("v1", "Pod")
        with suppress(NotFoundError):
            await discovery.find("pods")

    asyncio.run(main())
