"""Mistakes that mypy and pyright must report, each on its line and under these names.

Nothing here runs.  Both checkers report a comment that ignores no error (``warn_unused_ignores`` and
``reportUnnecessaryTypeIgnoreComment``), so a mistake that is no longer found is an error as well.
"""

# Consequences of the mistakes, on the same lines:
# pyright: reportUntypedFunctionDecorator=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from myrmidon import (
    ConditionValue,
    Context,
    Controller,
    ControllerOptions,
    Done,
    Failed,
    Fork,
    Manages,
    OutputSet,
    Permission,
    Reads,
    Result,
    Wait,
    Watch,
    kinds,
    state,
)
from myrmidon.testing import Cluster
from tests.types.correct_uses import WebApp, WebAppSpec


class Kinds(Controller[WebApp]):
    """The name of a kind is not a kind."""

    manages = ("Deployment",)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    reads = (Manages(kinds.POD),)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    watches = (kinds.POD,)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]


class States(Controller[WebApp]):
    """A state returns a Result, and nothing else."""

    options = ControllerOptions(workers="4")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

    @state(initial=True, then="b")
    def a(self, app: WebApp, out: OutputSet) -> Result:
        """The result is a string."""
        return "done"  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    @state(then="c")  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]
    def b(self, app: WebApp, out: OutputSet) -> bool:
        """The annotation says that it returns no Result."""
        return True

    @state(start=True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    def c(self, app: WebApp, out: OutputSet) -> Result:
        """An argument that does not exist."""
        return Done()


def results() -> None:
    """Arguments of results."""
    Wait("Soon", after=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Wait()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Done(again="x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Done(goto=Done())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Failed("Broken")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    ConditionValue("Maybe", "Unsure")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Fork(1, 2)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def outputs(app: WebApp, out: OutputSet) -> None:
    """Options of outputs: unknown names, and values of the wrong type."""
    out.apply(app, serverside=True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    out.apply(app, server_side="yes")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    out.apply(app, field_validation="strict")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    out.apply_all([app], createonly=True)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    out.delete(app, propagation="Later")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    out.scale(app, replicas="2")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    out.patch(app, type="yaml")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    out.delete_all("Pod")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    out.label_self({"a": 1})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]


async def reads(ctx: Context) -> None:
    """Reads by name, without a name, and of fields that do not exist."""
    await ctx.get("Pod", "x")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    await ctx.get(WebApp)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await ctx.live.get("Pod", "x")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    await ctx.list("Pod")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    found = await ctx.get(WebApp, "x")
    print(found.spec)  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
    app = (await ctx.list(WebApp))[0]
    print(app.spec.imgae)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    app.name = "other"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    app.status.url = 5  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]
    ctx.event("Error", "Broken", "text")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def declarations() -> None:
    """Kinds by name in the declarations of a controller, and fields that do not exist."""
    state(len)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Manages("Pod")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Reads("Pod")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Watch("Pod", to=list)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Permission("Pod", "get")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    WebApp(nam="shop")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    WebAppSpec(imgae="shop")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def reads_of_a_test(cluster: Cluster) -> None:
    """The same for the reads of a test."""
    cluster.get("Pod", "x")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType, reportCallIssue]
    print(cluster.get(WebApp, "x").spec)  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
    print(cluster.list(WebApp)[0]["spec"])  # type: ignore[index]  # pyright: ignore[reportIndexIssue]
    cluster.ready("WebApp", "x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
