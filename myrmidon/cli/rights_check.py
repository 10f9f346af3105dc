"""Which rights of the generated role the server does not grant, asked verb by verb.

The preflight of a manager lists every declared kind, and ends the process if it may not.  The other
verbs (create, patch, delete, those of the status and of Events) would be missed only when a pass needs
them.  So ``myrmidon run`` asks at its start for every verb of the role that ``myrmidon generate rbac``
writes, with a SelfSubjectAccessReview each, which every authenticated user may create.

What is missing is a warning, not an error: the generated role is wider than needed where the code does
not tell (``generate.manifests.usage``), and a hand-written role may be smaller and suffice.  A server
that does not answer the reviews is left to the preflight.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind, ObjectRef
from myrmidon.api.requests.request import Request, Verb
from myrmidon.errors import ApiError, TransportError
from myrmidon.fsm.controller import Controller
from myrmidon.generate.manifests.rbac import CLUSTER, rights_of
from myrmidon.io.client import Client

ACCESS_REVIEW = Kind(
    "authorization.k8s.io",
    "v1",
    "SelfSubjectAccessReview",
    "selfsubjectaccessreviews",
    namespaced=False,
)
_NAMELESS = ObjectRef(ACCESS_REVIEW, "", "")
_AT_ONCE, _SECONDS_MAX = 8, 10.0


class Right(NamedTuple):
    """A verb on a resource in a namespace, ``""`` for all."""

    namespace: str
    group: str
    resource: str  # with its subresource: webapps/status
    verb: str
    name: str = ""

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        of = f".{self.group}" if self.group else ""
        return f"{self.verb} {self.resource}{of}{where}"

    def attributes(self) -> Json:
        """Return the right as ``resourceAttributes`` of a review."""
        resource, _, subresource = self.resource.partition("/")
        said = {
            "namespace": self.namespace,
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "verb": self.verb,
            "name": self.name,
        }
        return {key: value for key, value in said.items() if value}


def needed(
    controllers: Iterable[type[Controller[Any]]], namespaces: Sequence[str] = ()
) -> list[Right]:
    """Return each verb of the generated role; in ``namespaces`` if the process is limited to them."""
    return [
        Right(where, target.group, target.resource, verb, name)
        for scope, targets in rights_of(controllers).granted.items()
        for where in (namespaces if scope == CLUSTER and namespaces else (scope,))
        for target, verbs in sorted(targets.items())
        for verb in sorted(verbs)
        for name in target.names or ("",)
    ]


async def missing_rights(client: Client, rights: Sequence[Right]) -> list[Right]:
    """Return the rights that the server does not grant; none if it cannot be asked."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def is_allowed(right: Right) -> bool:
        async with slots:
            review = {
                "apiVersion": ACCESS_REVIEW.api_version,
                "kind": ACCESS_REVIEW.kind,
                "spec": {"resourceAttributes": right.attributes()},
            }
            answer = await client.send(Request(Verb.CREATE, _NAMELESS, review))
            return bool((answer.get("status") or {}).get("allowed"))

    asked: dict[Right, asyncio.Task[bool]] = {}
    try:
        async with asyncio.timeout(_SECONDS_MAX), asyncio.TaskGroup() as group:
            asked = {right: group.create_task(is_allowed(right)) for right in rights}
    except* (ApiError, TransportError, TimeoutError):
        asked = {}
    return [right for right, answer in asked.items() if not answer.result()]
