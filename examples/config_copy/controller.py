"""Hands a ConfigMap out to other namespaces: the smallest controller that makes sense.

A pod can only read ConfigMaps of its own namespace.  A ConfigCopy with the name of a ConfigMap, in
its namespace, keeps a copy of it in every namespace that it lists.
"""

from collections.abc import Iterable

from pydantic import Field

from myrmidon import (
    Context,
    Controller,
    ControllerOptions,
    Done,
    Model,
    OutputSet,
    Resource,
    Result,
    Status,
    Wait,
    Watch,
    changed,
    kinds,
    state,
)
from myrmidon.api import Json


class ConfigCopySpec(Model):
    """Where the copies go."""

    namespaces: list[str] = Field(min_length=1)
    """Namespaces that exist; each gets a copy."""


class ConfigCopy(
    Resource[ConfigCopySpec, Status],
    group="demo.myrmidon.dev",
    version="v1",
    plural="configcopies",
    short_names=["cc"],
    columns={
        "Namespaces": ".spec.namespaces",
        "Ready": ".status.conditions[?(@.type=='Ready')].status",
    },
):
    """A ConfigMap of the same name, copied to other namespaces."""


def copy_of(source: Json) -> Iterable[str]:
    """The ConfigCopy that a ConfigMap concerns: the one with its name, beside it."""
    yield source["metadata"]["name"]


class ConfigCopies(Controller[ConfigCopy]):
    """Keeps the copies equal to their source."""

    manages = (kinds.CONFIG_MAP,)
    watches = (Watch(kinds.CONFIG_MAP, to=copy_of, when=changed("data")),)
    options = ControllerOptions(prune=True)  # a namespace taken off the list loses its copy

    @state(initial=True, condition="Copied")
    async def copied(self, copy: ConfigCopy, out: OutputSet, ctx: Context) -> Result:
        """Every namespace has what the source says."""
        source = await ctx.get(kinds.CONFIG_MAP, copy.name)
        if source is None:
            return Wait("NoSource", f"there is no ConfigMap {copy.name} to copy")
        for namespace in copy.spec.namespaces:
            # An owner in another namespace is nothing that Kubernetes knows: labels instead.
            out.apply(config_map(source, namespace), owner_refs=False)
        return Done()


def config_map(source: Json, namespace: str) -> Json:
    """Build one copy."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": source["metadata"]["name"], "namespace": namespace},
        "data": source.get("data") or {},
    }
