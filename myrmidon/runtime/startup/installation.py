"""Installation: applies the CRDs of a program to its cluster, with ``ManagerOptions.install_crds``.

The definitions are applied by server-side apply, with force, because the fields of a CRD that
kubectl created belong to kubectl.  Only the leader does it: it is a write.

A definition may be on its way out when the program starts: a user deleted it a moment ago, or its
objects carry finalizers.  Such a definition still accepts the apply, still says Established, and
then disappears.  So it counts as installed only once the server serves one that is not being
deleted; until then it is applied again and again.  The controllers do not wait for that for longer
than 5 seconds, because the finalizers that hold the old definition may be their own.
"""

from collections.abc import Iterable

from myrmidon.api.clock import Clock
from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, is_deleting
from myrmidon.api.objects.conditions import find
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.request import Patch
from myrmidon.errors import ForbiddenError, InvalidError, UsageError
from myrmidon.io.client import Client
from myrmidon.runtime.logs import Logger

FIELD_MANAGER = "myrmidon"
_LOOK_SECONDS, _LOOKS_MAX = 0.2, 25
_ROUND_SECONDS = 2.0


class Installation:
    """The definitions of a program and how many of them the cluster serves already."""

    def __init__(
        self, client: Client, definitions: Iterable[Json], clock: Clock, log: Logger
    ) -> None:
        self._client, self._clock, self._log = client, clock, log
        self._missing = list(definitions)
        self._told: set[str] = set()

    async def attempt(self) -> None:
        """Apply what is missing, and wait up to 5 seconds for each until its kind is served."""
        for definition in tuple(self._missing):
            if await self._installed(definition):
                self._missing.remove(definition)

    async def complete(self) -> None:
        """Install until nothing is missing."""
        await self.attempt()
        while self._missing:
            await self._clock.sleep(_ROUND_SECONDS)
            await self.attempt()

    async def _installed(self, definition: Json) -> bool:
        ref = ObjectRef(kinds.CUSTOM_RESOURCE_DEFINITION, definition["metadata"]["name"])
        for _ in range(_LOOKS_MAX):
            stored = await self._applied(ref, definition)
            if is_deleting(stored):
                self._tell_deleting(ref.name)
            elif _is_established(stored):
                self._log.info("definition installed", definition=ref.name)
                return True
            await self._clock.sleep(_LOOK_SECONDS)
        return False

    async def _applied(self, ref: ObjectRef, definition: Json) -> Json:
        try:
            return await self._client.patch(
                ref, definition, patch=Patch.APPLY, field_manager=FIELD_MANAGER, force=True
            )
        except ForbiddenError as error:
            raise UsageError(
                f"the definition {ref.name} may not be installed: {error.message}.\n"
                "  fix: let an administrator apply the role of `myrmidon generate rbac "
                "--install-crds`, or install the definition by `myrmidon generate crd`"
            ) from None
        except InvalidError as error:
            raise UsageError(
                f"the cluster refuses the definition {ref.name}: {error.message}.\n"
                "  fix: change the class, or delete the definition if its objects may go, too"
            ) from None

    def _tell_deleting(self, name: str) -> None:
        if name not in self._told:
            self._told.add(name)
            self._log.warning(
                "the definition is being deleted; it is installed again when it is gone",
                definition=name,
            )


def _is_established(definition: Json) -> bool:
    condition = find(definition, "Established")
    return condition is not None and condition.status == "True"
