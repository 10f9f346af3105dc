"""What type checkers infer at the front door: mypy and pyright must agree with every line.

Nothing here runs.  ``test_types.py`` gives the file to both checkers.
"""

from datetime import timedelta
from typing import Any, assert_type

from kubernetes_asyncio.client import V1ConfigMap

from myrmidon import (
    Context,
    Controller,
    Done,
    Failed,
    Manages,
    Model,
    OutputSet,
    Reads,
    Resource,
    Result,
    Status,
    Unstructured,
    Wait,
    kinds,
    state,
)
from myrmidon.testing import Cluster


class WebAppSpec(Model):
    """The spec of a web application."""

    image: str
    replicas: int = 1


class WebAppStatus(Status):
    """Its status."""

    url: str | None = None


class WebApp(Resource[WebAppSpec, WebAppStatus], group="demo.myrmidon.dev", version="v1"):
    """A web application."""


class Certificate(Unstructured, kind=kinds.SECRET):
    """An object of a kind that no Resource describes."""


class WebApps(Controller[WebApp]):
    """States may be methods or coroutines, with or without the context."""

    manages = (kinds.DEPLOYMENT, WebApp, V1ConfigMap, Manages(kinds.SERVICE))
    reads = (Reads(kinds.SECRET, cached=False), kinds.NODE)

    @state(initial=True, then="exposed")
    def deployed(self, app: WebApp, out: OutputSet) -> Result:
        """Spec, status and metadata are typed."""
        assert_type(app.spec.image, str)
        assert_type(app.status.url, str | None)
        assert_type(app.name, str)
        app.status.url = "http://shop.example.com"
        out.apply(WebApp(name="copy", spec=app.spec), server_side=True, force=True)
        out.apply({"apiVersion": "v1", "kind": "Service"}, field_validation="Warn")
        out.delete(kinds.DEPLOYMENT, "old", propagation="Orphan")
        if app.spec.replicas == 0:
            return Failed("NoReplicas", "nothing to run", retry=False)
        return Done(again=timedelta(hours=1))

    @state()
    async def exposed(self, app: WebApp, out: OutputSet, ctx: Context) -> Wait | Done:
        """Each way to name a kind says what a read returns."""
        assert_type(await ctx.get(WebApp, "shop"), WebApp | None)
        assert_type(await ctx.get(Certificate, "shop"), Certificate | None)
        assert_type(await ctx.get(kinds.DEPLOYMENT, "shop"), dict[str, Any] | None)
        assert_type(await ctx.live.get(WebApp, "shop", namespace="other"), WebApp | None)
        assert_type(await ctx.live.get(kinds.SECRET, "shop"), dict[str, Any] | None)
        assert_type(await ctx.list(WebApp, labels={"app": "shop"}), list[WebApp])
        assert_type(await ctx.list(kinds.NODE, index=("zone", "a")), list[dict[str, Any]])
        assert_type(await ctx.live.list(WebApp, ""), list[WebApp])
        other = await ctx.get(WebApp, "other")
        if not ctx.is_ready(other) or other is None:
            return Wait("NotReady", after=timedelta(seconds=5))
        assert_type(other.spec.replicas, int)
        return Done()


def reads_of_a_test(cluster: Cluster) -> None:
    """The same for the reads of a test; ``require`` never returns None."""
    assert_type(cluster.get(WebApp, "shop"), WebApp | None)
    assert_type(cluster.get(kinds.POD, "shop"), dict[str, Any] | None)
    assert_type(cluster.require(WebApp, "shop"), WebApp)
    assert_type(cluster.require(kinds.POD, "shop"), dict[str, Any])
    assert_type(cluster.list(WebApp), list[WebApp])
    assert_type(cluster.list(kinds.POD, ""), list[dict[str, Any]])
    assert_type(cluster.require(WebApp, "shop").status.url, str | None)
    assert_type(cluster.eventually(lambda: cluster.get(WebApp, "shop")), WebApp | None)
