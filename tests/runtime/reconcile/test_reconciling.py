"""The result of a pass: what is timed, what is shown, and what gets another pass."""

from datetime import timedelta

from myrmidon import Context, Done, OutputSet, Result, Wait, kinds
from myrmidon.testing import Harness
from tests.runtime.things import FinalThings, Thing, Things, done, thing

MINUTE = timedelta(minutes=1)


def value(cluster: Harness, name: str, **labels: str) -> float | None:
    """Return one series of the manager's metrics."""
    return next(
        (
            sample.value
            for family in cluster.manager.metrics.registry.collect()
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ),
        None,
    )


def test_a_pass_that_waits_is_neither_success_nor_failure() -> None:
    """A slow object is timed when it becomes Ready."""
    results: list[Result] = [Done(), Wait("Soon", after=MINUTE)]
    with Harness(Things(lambda *_: results.pop())) as cluster:
        name = "achilles_processing_duration_seconds"
        cluster.apply(thing())
        cluster.step()
        assert not value(cluster, f"{name}_count")

        cluster.settle()
        assert value(cluster, f"{name}_count", success="true") == 1
        assert value(cluster, f"{name}_sum", success="true") == 60.0


def test_a_pass_that_changes_what_it_reads_again_and_again_is_delayed() -> None:
    """It reads what it then writes, always with another value; this must not become a busy loop."""
    runs: list[str] = []

    async def act(it: Thing, out: OutputSet, ctx: Context) -> Result:
        await ctx.get(kinds.CONFIG_MAP, it.name)
        runs.append(it.name)
        data = {"number": str(len(runs))}
        metadata = {"name": it.name}
        out.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
        return Done()

    with Harness(Things(act)) as cluster:
        cluster.apply(thing())
        cluster.step()
        assert len(runs) == 2, "one more pass at once, then a growing delay"
        cluster.advance(timedelta(hours=1))

    assert len(runs) < 50


def test_an_object_that_is_being_deleted_is_shown_as_such() -> None:
    """Its Ready condition stays as it was."""
    with Harness(FinalThings(done, last=lambda *_: Wait("Busy", after=MINUTE))) as cluster:
        cluster.apply(thing())
        cluster.settle()
        cluster.delete(Thing, "it")
        cluster.step()

        assert value(cluster, "achilles_resource_readiness", status="Deleted") == 1
        assert value(cluster, "achilles_resource_readiness", status="True") == 0


def test_an_object_in_quarantine_keeps_its_record() -> None:
    """The record of its children survives although a field is invalid."""

    def act(it: Thing, out: OutputSet, _ctx: Context) -> Result:
        out.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": it.name}})
        return Done()

    name, free = "things.test.myrmidon.dev", {"x-kubernetes-preserve-unknown-fields": True}
    with Harness(Things(act)) as cluster:
        cluster.apply(thing())
        cluster.settle()
        definition = cluster.require(kinds.CUSTOM_RESOURCE_DEFINITION, name)
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {"type": "object", **free}
        cluster.patch(kinds.CUSTOM_RESOURCE_DEFINITION, name, definition)
        cluster.patch(Thing, "it", {"spec": {"size": "huge"}})
        cluster.settle()
        (obj,) = cluster.list(Thing.KIND)

    assert [one["name"] for one in obj["status"]["resourceRefs"]] == ["it"]
    assert "InvalidObject" in {one["reason"] for one in obj["status"]["conditions"]}
