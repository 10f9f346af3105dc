"""E19: a timeout of a create counts as success, and no further pass comes."""

from myrmidon.api import Json
from myrmidon.errors import AmbiguousError
from tests.museum.kit import POD, POD_SPEC, Exhibit, Reconciler, creation


class SwallowedTimeout(Reconciler):
    """Relies on the informer to tell whether the pod was created; it is silent if it was not."""

    children = (POD,)

    async def reconcile(self, obj: Json) -> None:
        """Create a pod."""
        try:
            await self.ensure(POD, self.child(obj, POD, "a", spec=POD_SPEC))
        except AmbiguousError:
            self.after_timeout()

    def after_timeout(self) -> None:
        """Do nothing."""


class TriesAgain(SwallowedTimeout):
    """Tries again."""

    def after_timeout(self) -> None:
        """Raise the error, so that the pass is repeated."""
        raise  # noqa: PLE0704 - inside the handler of the timeout


EXHIBIT = Exhibit(
    "E19 swallowed timeout",
    "kubernetes/kubernetes#67662",
    SwallowedTimeout,
    TriesAgain,
    creation,
    frozenset({"O1"}),
)
