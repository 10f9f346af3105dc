"""Copies a ConfigMap to other namespaces: a small but complete controller.

A pod can only read ConfigMaps of its own namespace.  A ConfigCopy with the name and namespace of a
ConfigMap keeps a copy of that ConfigMap in every namespace that it lists.
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
    """Where to put the copies."""

    namespaces: list[str] = Field(min_length=1)
    """The namespaces that get a copy; they must exist."""


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
    """Return the key of the ConfigCopy for a ConfigMap: same name, same namespace."""
    yield source["metadata"]["name"]


class ConfigCopies(Controller[ConfigCopy]):
    """Keeps the copies equal to their source."""

    manages = (kinds.CONFIG_MAP,)
    watches = (Watch(kinds.CONFIG_MAP, to=copy_of, when=changed("data")),)
    options = ControllerOptions(prune=True)  # deletes the copy if its namespace leaves the list

    @state(initial=True, condition="Copied")
    async def copied(self, copy: ConfigCopy, out: OutputSet, ctx: Context) -> Result:
        """Every namespace has a copy with the data of the source."""
        source = await ctx.get(kinds.CONFIG_MAP, copy.name)
        if source is None:
            return Wait("NoSource", f"there is no ConfigMap {copy.name} to copy")
        for namespace in copy.spec.namespaces:
            # Kubernetes does not allow owner references across namespaces: track it by label.
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
