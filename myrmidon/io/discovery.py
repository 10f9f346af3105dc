"""Discovery: which kinds a server has, by apiVersion and kind or by any name that kubectl accepts.

Kinds that were found are cached until ``invalidate``.  A kind that was not found is requested again
the next time, because its CRD may be installed in the meantime.
"""

from dataclasses import dataclass
from typing import Any

from myrmidon.api.clock import Clock
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, split_api_version
from myrmidon.api.requests.transport import JSON
from myrmidon.errors import ApiError, NotFoundError, ServerError, TransportError
from myrmidon.io.client import Client
from myrmidon.io.timers.clock import LoopClock

_AGGREGATED = f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,{JSON}"


@dataclass(frozen=True, slots=True)
class ServedKind:
    """A kind with its other names, its verbs and its subresources."""

    kind: Kind
    singular: str
    short_names: tuple[str, ...]
    verbs: tuple[str, ...]
    subresources: tuple[str, ...]

    def answers_to(self, name: str) -> bool:
        """Whether this is a name of the kind: plural, singular, short name, kind, ``x.group``."""
        wanted, _, group = name.lower().partition(".")
        if group and group != self.kind.group:
            return False
        names = (self.kind.plural, self.singular, self.kind.kind.lower(), *self.short_names)
        return wanted in names


class Discovery:
    """Asks a server which kinds it serves, and caches the answers."""

    def __init__(self, client: Client, *, clock: Clock | None = None) -> None:
        self._client = client
        self._clock: Clock = clock or LoopClock()
        self._versions: dict[str, tuple[ServedKind, ...]] = {}
        self._all: tuple[ServedKind, ...] = ()

    async def kind_of(self, api_version: str, kind: str) -> Kind:
        """Return the kind with this apiVersion and kind; ``NotFoundError`` if there is none."""
        found = _named(self._versions.get(api_version, ()), kind)
        if found is None:
            self._versions[api_version] = await self._version(api_version)
            found = _named(self._versions[api_version], kind)
        if found is None:
            raise NotFoundError(404, "NotFound", f"the server has no {kind} in {api_version}")
        return found.kind

    async def wait_kind(
        self, api_version: str, kind: str, *, retry_seconds_max: float = 30.0
    ) -> Kind:
        """Return the kind; wait until its CRD is installed and the server can be reached.

        Retries begin after half a second and are at most ``retry_seconds_max`` apart.
        """
        seconds = 0.5
        while True:
            try:
                return await self.kind_of(api_version, kind)
            except (NotFoundError, ServerError, TransportError):
                await self._clock.sleep(seconds)
                seconds = min(retry_seconds_max, 2 * seconds)

    async def find(self, name: str) -> ServedKind:
        """Return the kind with a name such as ``deploy``, ``Deployment`` or ``deployments.apps``.

        If several have it, the core group comes first, then groups and versions in the server's
        order of preference.  Raises ``NotFoundError`` if there is none.
        """
        found = next((kind for kind in self._all if kind.answers_to(name)), None)
        if found is None:
            self._all = await self.kinds()
            found = next((kind for kind in self._all if kind.answers_to(name)), None)
        if found is None:
            raise NotFoundError(404, "NotFound", f"the server has no kind called {name!r}")
        return found

    async def kinds(self) -> tuple[ServedKind, ...]:
        """Return all kinds of the server, with two requests if it has aggregated discovery."""
        found: list[ServedKind] = []
        for root in ("/api", "/apis"):
            body = await self._client.fetch_json(root, accept=_AGGREGATED)
            if body.get("kind") == "APIGroupDiscoveryList":
                found += _aggregated(body)
            else:
                found += await self._one_by_one(body)
        return tuple(found)

    def invalidate(self) -> None:
        """Empty the cache: the next call asks the server."""
        self._versions.clear()
        self._all = ()

    async def _one_by_one(self, body: Json) -> list[ServedKind]:
        """Return the kinds of a server before 1.26, with a request for each group version.

        A group version whose server does not answer is left out.
        """
        versions = (
            _texts(body.get("versions"))
            if body.get("kind") == "APIVersions"
            else _texts(
                [
                    version.get("groupVersion")
                    for group in _objects(body.get("groups"))
                    for version in _objects(group.get("versions"))
                ]
            )
        )
        found: list[ServedKind] = []
        for api_version in versions:
            try:
                found += await self._version(api_version)
            except ApiError:
                continue
        return found

    async def _version(self, api_version: str) -> tuple[ServedKind, ...]:
        group, version = split_api_version(api_version)
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        body = await self._client.fetch_json(root)
        resources = [
            resource
            for resource in _objects(body.get("resources"))
            if _texts([resource.get("name"), resource.get("kind")])[1:]
        ]
        return tuple(
            _served(group, version, resource, resources)
            for resource in resources
            if "/" not in resource["name"]
        )


# An aggregated API server may send malformed entries; they are left out.


def _objects(value: Any) -> list[Json]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(entry for entry in value if isinstance(entry, str) and entry)


def _text(entry: Json, field: str) -> str:
    value = entry.get(field)
    return value if isinstance(value, str) else ""


def _served(group: str, version: str, resource: Json, others: list[Json]) -> ServedKind:
    plural, kind = resource["name"], resource["kind"]
    return ServedKind(
        Kind(group, version, kind, plural, bool(resource.get("namespaced"))),
        _text(resource, "singularName") or kind.lower(),
        _texts(resource.get("shortNames")),
        _texts(resource.get("verbs")),
        tuple(
            other["name"].partition("/")[2]
            for other in others
            if other["name"].startswith(f"{plural}/")
        ),
    )


def _aggregated(body: Json) -> list[ServedKind]:
    return [
        ServedKind(
            Kind(
                _text(_inner(group, "metadata"), "name"),
                _text(version, "version"),
                _text(_inner(resource, "responseKind"), "kind"),
                _text(resource, "resource"),
                resource.get("scope") == "Namespaced",
            ),
            _text(resource, "singularResource"),
            _texts(resource.get("shortNames")),
            _texts(resource.get("verbs")),
            _texts([part.get("subresource") for part in _objects(resource.get("subresources"))]),
        )
        for group in _objects(body.get("items"))
        for version in _objects(group.get("versions"))
        for resource in _objects(version.get("resources"))
        if _text(version, "version") and _text(resource, "resource")
    ]


def _inner(entry: Json, field: str) -> Json:
    value = entry.get(field)
    return value if isinstance(value, dict) else {}


def _named(served: tuple[ServedKind, ...], kind: str) -> ServedKind | None:
    return next((entry for entry in served if entry.kind.kind == kind), None)
