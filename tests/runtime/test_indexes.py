"""Indexes of a controller: objects are found by a value without reading all of them."""

from typing import Any

from myrmidon import Context, Controller, Done, OutputSet, Result, kinds, state
from myrmidon.api.objects.accessors import Json, name_of
from myrmidon.testing import Harness
from tests.runtime.things import Thing, ThingSpec


def text(obj: Json) -> list[str]:
    """Return the words of a ConfigMap."""
    return str(obj["data"]["text"]).split()


class Finders(Controller[Thing]):
    """Finds the ConfigMaps with its value in their text."""

    reads = (kinds.CONFIG_MAP,)
    indexes = {kinds.CONFIG_MAP: {"word": text}}  # noqa: RUF012

    @state(initial=True)
    async def found(self, thing: Thing, out: OutputSet, ctx: Context) -> Result:
        """The status lists them."""
        index = "word" if thing.spec.size else "letter"
        maps = await ctx.list(kinds.CONFIG_MAP, index=(index, thing.spec.value))
        thing.status.note = " ".join(map(name_of, maps))
        return Done()


def config_map(name: str, text: str | None = None) -> Json:
    """Build a ConfigMap with a text, or with nothing to index."""
    data = {} if text is None else {"data": {"text": text}}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **data}


def note(cluster: Harness, name: str, **spec: Any) -> str | None:
    """Return what is found for a new Thing."""
    cluster.apply(Thing(name=name, spec=ThingSpec(**spec)))
    cluster.settle()
    status: str | None = cluster.require(Thing, name).status.note
    return status


def test_objects_are_found_by_the_words_of_an_index() -> None:
    """Also objects created later; an object that the function cannot read has no entries."""
    maps = [config_map("a", "red blue"), config_map("b", "blue"), config_map("c")]
    with Harness(Finders(), manifests=maps) as cluster:
        assert note(cluster, "one", value="blue") == "a b"
        cluster.patch(kinds.CONFIG_MAP, "b", {"data": {"text": "red"}})
        assert note(cluster, "two", value="blue") == "a"
        assert note(cluster, "three", value="red") == "a b"
        assert note(cluster, "four", value="green") == ""


def test_a_lookup_in_an_undeclared_index_is_an_error() -> None:
    """The error says that the controller has to declare it."""
    with Harness(Finders()) as cluster:
        note(cluster, "one", size=0)
        condition = cluster.condition(Thing, "one", "Found")

    assert condition is not None
    assert condition.reason == "ProgrammingError"
    assert condition.message == (
        "Finders.found asked for the index 'letter' of ConfigMap; "
        "Finders.indexes declares word.\n"
        "  fix: add 'letter' to Finders.indexes, "
        "a function from an object to its index values"
    )
