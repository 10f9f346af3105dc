"""The server: the store, the resource types, the users, and the actors that run after a request.

``answer`` handles one request, synchronously.  It does not run the actors: the front first builds
the response, then calls ``settle``.

Settling: the actors (garbage collector, namespace controller, CustomResourceDefinitions, stand-ins
for the built-in controllers) see every change since their last run, in the order of revisions, and
then act.  Their writes are requests like any other, so the actors see these changes in the next
round.  ``settle`` returns when a round writes nothing.  Actors that still write after 1,000 rounds
are a bug, and raise an ``AssertionError``.

The server has no timers.  An actor that has to act later (a pod that becomes ready after a second)
returns that time from ``due``; a front calls ``settle`` again at that time, and a simulator
whenever it chooses.  ``settled`` is called at the end of each ``settle``, so that a front can set
its timer.

On a server without users, every request is made by the administrator; see ``auth.users``.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from myrmidon.api.objects.accessors import Json, describe, namespace_of
from myrmidon.api.objects.refs import split_api_version
from myrmidon.api.requests.paths import collection_path
from myrmidon.api.requests.transport import HttpRequest, HttpResponse
from myrmidon.api.values.timestamps import write_time
from myrmidon.apiserver.actors.actor import Actor
from myrmidon.apiserver.actors.definitions import DefinitionLifecycle
from myrmidon.apiserver.actors.troupe import Troupe
from myrmidon.apiserver.admission.definitions import DefinitionGuard
from myrmidon.apiserver.admission.limit_ranges import LimitRangeStep
from myrmidon.apiserver.admission.mutating_policies import MutatingPolicies
from myrmidon.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from myrmidon.apiserver.admission.rbac_escalation import RightsGuard
from myrmidon.apiserver.admission.resource_quota import ResourceQuotaStep
from myrmidon.apiserver.admission.reviews import allowing
from myrmidon.apiserver.admission.validating_policies import ValidatingPolicies
from myrmidon.apiserver.admission.webhooks import Webhooks
from myrmidon.apiserver.auth.account_tokens import AccountTokens
from myrmidon.apiserver.auth.rbac import RoleAuthorizer
from myrmidon.apiserver.auth.signing import SigningKey, fixed_key
from myrmidon.apiserver.auth.users import ADMIN, AllowAll, Authorizer, Tokens, User
from myrmidon.apiserver.builtin.resource_types import builtin_types
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.handling.handler import Handler
from myrmidon.apiserver.handling.memo import SHARED, RequestMemo, is_usable
from myrmidon.apiserver.refusals.failures import internal
from myrmidon.apiserver.requests.call import AdmissionStep, Core, Draws
from myrmidon.apiserver.requests.environment import CountingEnvironment, Environment
from myrmidon.apiserver.requests.outcomes import ConversionQuestion, Outcome, Question
from myrmidon.apiserver.resources.conversions import ReviewFunction
from myrmidon.apiserver.resources.registry import Registry, ResourceType
from myrmidon.apiserver.resources.start_objects import start_objects
from myrmidon.apiserver.store import (
    HISTORY_BYTES_MAX,
    HISTORY_MAX,
    ObjectStore,
    StoreCheckpoint,
    StoredChange,
)
from myrmidon.apiserver.verbs.dispatch import failed
from myrmidon.apiserver.verbs.shard_selectors import FEATURE_GATE as SHARDED_LIST_AND_WATCH
from myrmidon.errors import MalformedNameError, UsageError

_ROUNDS_MAX = 1000
_FIRST_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


FEATURE_GATES = frozenset({SHARDED_LIST_AND_WATCH})


def _admission_steps(more: list[AdmissionStep]) -> list[AdmissionStep]:
    """Return all admission steps, in the order of the real server."""
    return [
        NamespaceLifecycle(),
        LimitRangeStep(),
        DefinitionGuard(),
        RightsGuard(),
        *more,
        MutatingPolicies(),
        ValidatingPolicies(),
        Webhooks(),
        ResourceQuotaStep(),
    ]


class ServerCheckpoint(NamedTuple):
    """The objects and resource types of a server at one moment."""

    store: StoreCheckpoint
    types: tuple[ResourceType, ...]
    changes: list[StoredChange]


class ApiServer:
    """A Kubernetes API server in memory.  It is synchronous: waiting is left to the fronts.

    - ``environment``: source of time, uids and name suffixes.  Default: a fixed time and counters.
    - ``users``: users by bearer token.  Default: none, every request is the administrator's.
    - ``authorizer``: decides who may do what.  Default: see ``rbac``.
    - ``rbac``: True authorizes by the Roles in the store, unless ``authorizer`` is given.  Default: False, every identified user may do everything.
    - ``admission``: further admission steps, after the built-in ones and before policies and webhooks.
    - ``actors``: run after each request, after the actor for CustomResourceDefinitions.
    - ``history_max``: number of changes kept for watches and paged lists (``store``).
    - ``history_bytes_max``: size of these changes as JSON; the limit that is reached first counts.
    - ``signing_key``: makes the key that signs the tokens of service accounts, when it is needed
      first.  Default: a fixed key, with which anybody can sign.
    - ``memo``: answers repeated writes from memory (``memo``).  Default: one for all servers of the
      process.  None: every request is answered anew.
    - ``feature_gates``: feature gates of kube-apiserver that are on; ``FEATURE_GATES`` lists those that
      it knows.  Default: none, as on a real server, where they are off unless asked for.
    """

    def __init__(
        self,
        *,
        environment: Environment | None = None,
        users: Mapping[str, User] | None = None,
        authorizer: Authorizer | None = None,
        rbac: bool = False,
        admission: Iterable[AdmissionStep] = (),
        actors: Iterable[Actor] = (),
        history_max: int = HISTORY_MAX,
        history_bytes_max: int = HISTORY_BYTES_MAX,
        signing_key: Callable[[], SigningKey] = fixed_key,
        memo: RequestMemo | None = SHARED,
        feature_gates: Iterable[str] = (),
    ) -> None:
        gates = _check_gates(feature_gates)
        steps = list(admission)
        environment = environment or CountingEnvironment()
        store = ObjectStore(
            history_max=history_max,
            history_bytes_max=history_bytes_max,
            start=start_objects(write_time(environment.now())),
        )
        self.core = Core(
            store,
            Registry(builtin_types(store)),
            environment,
            authorizer or (RoleAuthorizer(store) if rbac else AllowAll()),
            AccountTokens(store, signing_key),
            Tokens(users),
            _admission_steps(steps),
            feature_gates=gates,
        )
        is_known = authorizer is None and not steps and signing_key is fixed_key
        is_known = is_known and is_usable(self.core)
        self.handler = Handler(self.core, self.core.tokens, memo if is_known else None)
        self._troupe = Troupe([DefinitionLifecycle(), *actors])
        self.settled: Callable[[], None] | None = None  # called at the end of settle()
        self.webhook_client: Callable[[Mapping[str, Any]], Awaitable[Any]] | None = None
        """Calls a webhook of this process: from its question to its reply.  None: over HTTP."""
        self._settled = self.core.store.revision
        for name in _FIRST_NAMESPACES:
            self.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        self.settle()
        self.store.compact(self.store.revision)  # no client can have seen an earlier revision

    @property
    def store(self) -> ObjectStore:
        """The store with all objects."""
        return self.core.store

    def answer(
        self, request: HttpRequest, user: User | None = None, draws: Draws | None = None
    ) -> Outcome:
        """Return the outcome of a request.  Call ``settle`` after the response is built."""
        return self.handler.answer(request, user, draws)

    def request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        user: User = ADMIN,
        content_type: str = "application/json",
        query: tuple[tuple[str, str], ...] = (),
    ) -> HttpResponse:
        """Answer a request of an actor immediately.

        Webhooks are not called, because this method cannot wait; they count as allowing the write.
        """
        sent = go_json.encode(body) if body is not None else b""
        headers = {"content-type": content_type, "accept": "application/json"}
        request = HttpRequest(method, path, query, headers, sent)
        outcome = self.handler.answer(request, user)
        while isinstance(outcome, Question):
            draws = outcome.draws
            draws.replies[outcome.key] = allowing(outcome.question)
            outcome = self.handler.answer(request, user, draws)
        if isinstance(outcome, ConversionQuestion):
            return failed(internal("an actor of this server cannot wait for a conversion webhook"))
        assert isinstance(outcome, HttpResponse), f"{method} {path} cannot be answered at once"
        return outcome

    def convert_with(self, resource: str, review: ReviewFunction) -> None:
        """Convert the versions of ``<plural>.<group>`` with a function of this process.

        It is called with a ConversionReview, instead of the webhook in the definition.
        """
        local = self.core.conversions.local
        if local.get(resource) != review:
            local[resource] = review
            self._troupe.reconsider(resource)
            self.settle()

    def create(self, manifest: Any) -> str:
        """Create the object of a manifest.  Return the error message, or ``""`` on success."""
        if not isinstance(manifest, dict):
            return "a manifest must be an object"
        group, version = split_api_version(str(manifest.get("apiVersion", "")))
        found = self.core.registry.find_kind(group, version, str(manifest.get("kind", "")))
        if found is None:
            return f"{describe(manifest)}: no such kind in {manifest.get('apiVersion')}"
        namespace = (namespace_of(manifest) or "default") if found.kind.namespaced else ""
        try:
            path = collection_path(found.kind, namespace)
        except MalformedNameError as error:
            return str(error)
        response = self.request("POST", path, manifest)
        self.settle()
        if response.status == 201:
            return ""
        return str(go_json.decode(response.body)["message"])

    def checkpoint(self) -> ServerCheckpoint:
        """Return the objects and resource types of now, for ``rollback``."""
        held = self.store.checkpoint()
        return ServerCheckpoint(held, self.core.registry.checkpoint(), held.changes())

    def rollback(
        self, checkpoint: ServerCheckpoint, environment: Environment, actors: Iterable[Actor]
    ) -> None:
        """Be the server of the checkpoint again, with another environment and new actors.

        Watches and listeners of before are forgotten.  The new actors observe the objects of the
        checkpoint as created; it must have been taken when all definitions were established.
        """
        self.store.rollback(checkpoint.store)
        self.core.registry.rollback(checkpoint.types)
        self.core.environment = environment
        lifecycle = DefinitionLifecycle()
        self._troupe = Troupe([lifecycle, *actors])
        self.settled = None
        self._settled = self.store.revision
        self._troupe.recall(checkpoint.changes, without=lifecycle)

    def settle(self) -> None:
        """Run every actor until no actor writes anything.

        An exception of one actor does not keep the others from their work: it is raised at the end.
        """
        failure: Exception | None = None
        for _ in range(_ROUNDS_MAX):
            self._observe()
            wrote, failed = self._troupe.act(self)
            failure = failure or failed
            if not wrote and self._settled == self.core.store.revision:
                if self.settled is not None:
                    self.settled()
                if failure is not None:
                    raise failure
                return
        raise AssertionError(f"the actors of the server still write after {_ROUNDS_MAX} rounds")

    def _observe(self) -> None:
        store = self.core.store
        if self._settled == store.revision:
            return
        observe = self._troupe.observe
        for change in store.all_changes(after=max(self._settled, store.compacted)):
            observe(change)
        self._settled = store.revision

    def due(self) -> datetime | None:
        """Return the earliest time at which an actor acts without a change, or None."""
        return self._troupe.due()


def _check_gates(names: Iterable[str]) -> frozenset[str]:
    gates = frozenset(names)
    if unknown := sorted(gates - FEATURE_GATES):
        raise UsageError(
            f"the embedded server does not know the feature gate {', '.join(unknown)}.\n"
            f"  fix: use one of {', '.join(sorted(FEATURE_GATES))}"
        )
    return gates
