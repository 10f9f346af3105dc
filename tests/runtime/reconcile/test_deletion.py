"""Finalizers, suspension, and children that only we can delete."""

from datetime import timedelta
from typing import Any

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.fsm import Controller, Done, Failed, Result, Wait, delete_children_foreground, state
from myrmidon.fsm.context import Context
from myrmidon.sets import OutputSet
from myrmidon.testing import Harness, Status
from tests.runtime.things import Act, FinalThings, Thing, Things, config_map, done, thing
from tests.runtime.webapps import cluster_role

OURS = "test.myrmidon.dev/thing"
HOUR = timedelta(hours=1)
LABEL = "myrmidon.dev/suspend"


def one_child(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply one child."""
    out.apply(config_map(f"{it.name}-a", it.spec.value))
    return Done()


def finalizers(cluster: Harness) -> list[str]:
    """Return the finalizers of the object."""
    return list(cluster.require(Thing, "it").finalizers)


def test_finalizer_is_confirmed_before_the_first_effect() -> None:
    """W3: a state sees it on the object, and the server has it before the state runs."""
    seen: list[list[str]] = []

    def look(it: Thing, _out: OutputSet, _ctx: Context) -> Result:
        seen.append(list(it.finalizers))
        return Done()

    with Harness(FinalThings(look)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert seen == [[OURS]]


def test_finalizer_is_removed_when_its_graph_has_ended() -> None:
    """W3: not while a state waits, fails, or asks for a recheck."""
    answers = iter(
        [
            Wait("Draining", after=timedelta(minutes=1)),
            Failed("NotGone", "it is stuck"),
            Done(recheck=Wait("Sure", after=timedelta(minutes=1))),
            Done(),
        ]
    )
    with Harness(FinalThings(last=lambda *_: next(answers))) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.delete(Thing, "it")
        for reason in ("Draining", "NotGone", "Sure"):
            cluster.eventually(
                lambda reason=reason: cluster.condition(Thing, "it", "Last").reason == reason  # type: ignore[union-attr, misc]
            )
            assert finalizers(cluster) == [OURS]
        cluster.settle()
        assert cluster.get(Thing, "it") is None


def test_finalizers_of_others_survive_whatever_the_order() -> None:
    """W4: a finalizer that another party adds between our read and our write stays."""
    meddled: list[str] = []

    def meddle(request_path: str) -> None:
        if not meddled and request_path.endswith("/things/it"):
            meddled.append("once")
            cluster.server.request(
                "PATCH",
                "/apis/test.myrmidon.dev/v1/namespaces/default/things/it",
                {"metadata": {"finalizers": ["other.dev/first", "other.dev/second"]}},
                content_type="application/merge-patch+json",
            )

    with Harness(
        FinalThings(),
        faults=lambda request: meddle(request.path) if request.method == "PATCH" else None,
    ) as cluster:
        cluster.apply(thing())
        cluster.settle()
        assert finalizers(cluster) == ["other.dev/first", "other.dev/second", OURS]

        meddled.clear()
        cluster.delete(Thing, "it")
        cluster.settle()
        assert finalizers(cluster) == ["other.dev/first", "other.dev/second"]
        assert cluster.writes_during(HOUR) == []


def test_deleting_parent_creates_nothing() -> None:
    """W5: existing objects may change, none is created."""

    def both(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply(config_map("it-a", "farewell"))
        out.apply(config_map("it-new"))
        return Wait("Watching", after=HOUR, keep_outputs=True)

    with Harness(FinalThings(one_child, last=both)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.delete(Thing, "it")
        cluster.advance(timedelta(minutes=1))

        assert cluster.require(kinds.CONFIG_MAP, "it-a")["data"] == {"value": "farewell"}
        assert cluster.get(kinds.CONFIG_MAP, "it-new") is None


def test_suspended_object_is_left_alone() -> None:
    """W6: no state runs and nothing is written; "false" does not suspend."""
    runs: list[str] = []

    def act(it: Thing, out: OutputSet, ctx: Context) -> Result:
        runs.append(it.name)
        return one_child(it, out, ctx)

    with Harness(FinalThings(act)) as cluster:
        cluster.apply({**thing().to_json(), "metadata": {"name": "it", "labels": {LABEL: "true"}}})
        cluster.settle()
        assert cluster.writes == []
        assert runs == []

        cluster.patch(Thing, "it", {"metadata": {"labels": {LABEL: "false"}}})
        cluster.settle()
        assert cluster.ready(Thing, "it")
        before = len(cluster.writes)

        cluster.patch(Thing, "it", {"metadata": {"labels": {LABEL: "true"}}})
        cluster.delete(kinds.CONFIG_MAP, "it-a")
        cluster.settle()
        assert len(cluster.writes) == before


def test_suspended_deletion_waits_and_reports_it() -> None:
    """W6: the finalizer graph runs when the suspension is lifted."""
    with Harness(FinalThings(one_child)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(Thing, "it", {"metadata": {"labels": {LABEL: "true"}}})
        cluster.delete(Thing, "it")
        cluster.settle()
        assert finalizers(cluster) == [OURS]
        events = [(one["reason"], one["message"]) for one in cluster.list(kinds.EVENT)]
        assert events == [
            ("Suspended", f"the deletion waits until the label {LABEL} is removed"),
        ]

        cluster.patch(Thing, "it", {"metadata": {"labels": {LABEL: None}}})
        cluster.settle()
        assert cluster.get(Thing, "it") is None


# -------------------------------------------------------------------- tracked children


def tracked(it: Thing, out: OutputSet, _ctx: Context) -> Result:
    """Apply children without owner reference: elsewhere, cluster-scoped, and by option."""
    elsewhere: Json = config_map("far", it.spec.value, namespace="elsewhere")
    for manifest in (elsewhere, cluster_role("wide"), config_map("near")):
        out.apply(manifest, owner_refs=False)
    return Done()


SPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}}


def test_tracked_children_are_recorded_before_they_are_created() -> None:
    """C8: finalizer, references, objects, in this order; they are deleted with the parent."""
    with Harness(Things(tracked), manifests=[SPACE]) as cluster:
        cluster.apply(thing())
        cluster.settle()
        bodies: list[Any] = [one.body for one in cluster.writes]
        assert bodies[0][-1]["value"] == [OURS]
        refs = bodies[1]["status"]["resourceRefs"]
        assert [(ref["kind"], ref["name"]) for ref in refs] == [
            ("ConfigMap", "far"),
            ("ClusterRole", "wide"),
            ("ConfigMap", "near"),
        ]
        assert cluster.ready(Thing, "it")
        assert "ownerReferences" not in cluster.require(kinds.CONFIG_MAP, "near")["metadata"]

        cluster.delete(Thing, "it")
        cluster.settle()
        assert cluster.get(Thing, "it") is None
        assert cluster.get(kinds.CONFIG_MAP, "far", "elsewhere") is None
        assert cluster.get(kinds.CONFIG_MAP, "near") is None
        assert cluster.get(kinds.CLUSTER_ROLE, "wide") is None


def test_tracked_children_of_one_state_stay_on_record_while_another_records_its_own() -> None:
    """A crash before the end of the pass must not lose the first ones."""

    def act(name: str) -> Act:
        def apply(_it: Thing, out: OutputSet, _ctx: Context) -> Result:
            out.apply(config_map(name), owner_refs=False)
            return Done()

        return apply

    with Harness(Things(act("one"), act("two"))) as cluster:
        cluster.apply(thing())
        cluster.settle()
        bodies: list[Any] = [one.body for one in cluster.writes if "/status" in one.request.path]
        said = [body["status"].get("resourceRefs") for body in bodies]
        assert [[ref["name"] for ref in refs] for refs in said if refs] == [["one"], ["one", "two"]]


def test_tracked_children_that_cannot_be_recorded_are_not_created() -> None:
    """Without the record they could be left behind."""
    refused = Status(403, "Forbidden")
    with Harness(
        Things(tracked),
        manifests=[SPACE],
        faults=lambda request: refused if "resourceRefs" in str(request.body) else None,
    ) as cluster:
        cluster.apply(thing())
        cluster.advance(timedelta(seconds=10))
        assert cluster.get(kinds.CONFIG_MAP, "near") is None


def test_tracked_children_wake_their_parent() -> None:
    """O3: a change of a child in another or in no namespace is corrected."""
    with Harness(Things(tracked), manifests=[SPACE]) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.delete(kinds.CLUSTER_ROLE, "wide")
        cluster.delete(kinds.CONFIG_MAP, "far", "elsewhere")
        cluster.settle()

        assert cluster.get(kinds.CLUSTER_ROLE, "wide") is not None
        assert cluster.get(kinds.CONFIG_MAP, "far", "elsewhere") is not None


def test_an_object_of_another_party_with_the_name_of_a_child_is_not_deleted() -> None:
    """O4: an object that replaced our child under its name stays."""
    with Harness(Things(tracked), manifests=[SPACE]) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.patch(Thing, "it", {"metadata": {"labels": {LABEL: "true"}}})
        cluster.delete(kinds.CLUSTER_ROLE, "wide")
        cluster.apply(cluster_role("wide"))
        cluster.settle()
        cluster.delete(Thing, "it")
        cluster.patch(Thing, "it", {"metadata": {"labels": {LABEL: None}}})
        cluster.settle()

        assert cluster.get(Thing, "it") is None
        assert cluster.get(kinds.CLUSTER_ROLE, "wide") is not None


def test_children_deleted_in_the_foreground() -> None:
    """O5: the state waits until all are gone, and sends one delete for each."""

    class Emptied(Controller[Thing]):
        """Deletes its children before it is released."""

        manages = (kinds.CONFIG_MAP,)
        children_deleted = delete_children_foreground(finalizer=True)

        @state(initial=True)
        def made(self, it: Thing, out: OutputSet) -> Result:
            """Children."""
            out.apply(config_map(f"{it.name}-a", finalizers=["other.dev/slow"]))
            out.apply(config_map(f"{it.name}-b"))
            return Done()

    with Harness(Emptied()) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.delete(Thing, "it")
        cluster.advance(timedelta(minutes=10))
        assert cluster.get(Thing, "it") is not None
        assert cluster.get(kinds.CONFIG_MAP, "it-b") is None
        deletes = [str(one) for one in cluster.writes if one.request.method == "DELETE"]
        assert len(deletes) == 2

        cluster.patch(kinds.CONFIG_MAP, "it-a", {"metadata": {"finalizers": None}})
        cluster.settle()
        assert cluster.get(Thing, "it") is None
        assert cluster.get(kinds.CONFIG_MAP, "it-a") is None


def test_an_invalid_object_that_is_deleted_says_why_it_stays() -> None:
    """F28: its finalizer states cannot run on an invalid object; a condition tells the user."""
    with Harness(FinalThings(done)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        crd = cluster.require(kinds.CUSTOM_RESOURCE_DEFINITION, "things.test.myrmidon.dev")
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
        }
        cluster.patch(kinds.CUSTOM_RESOURCE_DEFINITION, "things.test.myrmidon.dev", crd)
        cluster.patch(Thing, "it", {"spec": {"size": "huge"}})
        cluster.delete(Thing, "it")
        cluster.settle()

        obj = cluster.list(Thing.KIND)[0]
        assert obj["metadata"]["finalizers"] == [OURS]
        assert [one["reason"] for one in cluster.list(kinds.EVENT)] == ["InvalidObject"]
        ready = next(one for one in obj["status"]["conditions"] if one["type"] == "Ready")
        assert (ready["reason"], ready["message"][:9]) == ("InvalidObject", "spec.size")
