"""The authorizer: ``authorizer.group('apps').resource('deployments').check('create').allowed()``.

Rules of custom resources have no ``authorizer`` variable, but the function names exist for them, too: a
rule that calls one on another value gets the error that no overload matches, not that the function is
undeclared.  Expressions of admission have the variable; its value decides with a function of the server
(``Decide``), so that this package knows nothing of users and roles.

A path or resource that is checked is built up step by step; every step returns a new value.  Selectors
are accepted, but do not change the decision: no authorizer of this server looks at them.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from myrmidon.apiserver.cel.declarations import Implementation, method
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.values import Opaque
from myrmidon.apiserver.refusals.names import label_problems, subdomain_problems

_GROUP = "kubernetes.authorization."

Account: TypeAlias = tuple[str, str] | None
Decide: TypeAlias = Callable[[Account, Mapping[str, str]], tuple[bool, str]]
"""Whether an account (None: the user of the request) may do what is described, and the reason."""


class AuthorizerValue(Opaque):
    """Decides about the user of the request, or about a service account."""

    __slots__ = ("account", "decide")
    type_name = f"{_GROUP}Authorizer"

    def __init__(self, decide: Decide, account: Account = None) -> None:
        self.decide, self.account = decide, account

    def same(self, other: Any) -> bool:  # noqa: D102 - see Opaque
        return bool(self.account == other.account)


class _Check(Opaque):
    """What is to be decided: a path, or a resource with its group, namespace and name."""

    __slots__ = ("authorizer", "wanted")

    def __init__(self, authorizer: AuthorizerValue, wanted: Mapping[str, str]) -> None:
        self.authorizer, self.wanted = authorizer, wanted

    def same(self, other: Any) -> bool:
        return self.wanted == other.wanted and self.authorizer.same(other.authorizer)


class PathCheck(_Check):
    """A path that is not a resource."""

    __slots__ = ()
    type_name = f"{_GROUP}PathCheck"


class GroupCheck(_Check):
    """A group of resources."""

    __slots__ = ()
    type_name = f"{_GROUP}GroupCheck"


class ResourceCheck(_Check):
    """A resource."""

    __slots__ = ()
    type_name = f"{_GROUP}ResourceCheck"


class AccessDecision(Opaque):
    """Whether it is allowed, and why."""

    __slots__ = ("allowed", "reason")
    type_name = f"{_GROUP}Decision"

    def __init__(self, *, allowed: bool, reason: str) -> None:
        self.allowed, self.reason = allowed, reason

    def same(self, other: Any) -> bool:  # noqa: D102 - see Opaque
        return bool(self.allowed == other.allowed and self.reason == other.reason)


def _path(authorizer: AuthorizerValue, path: str) -> PathCheck:
    if not path.strip():
        raise CelEvaluationError("path must not be empty")
    return PathCheck(authorizer, {"path": path})


def _group(authorizer: AuthorizerValue, group: str) -> GroupCheck:
    return GroupCheck(authorizer, {"group": group})


def _account(authorizer: AuthorizerValue, namespace: str, name: str) -> AuthorizerValue:
    if subdomain_problems(name):
        raise CelEvaluationError("Invalid service account name")
    if label_problems(namespace):
        raise CelEvaluationError("Invalid service account namespace")
    return AuthorizerValue(authorizer.decide, (namespace, name))


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise CelEvaluationError("resource must not be empty")
    return ResourceCheck(check.authorizer, {**check.wanted, "resource": resource})


def _with(part: str) -> Implementation:
    return lambda check, value: ResourceCheck(check.authorizer, {**check.wanted, part: value})


def _unchanged(check: ResourceCheck, _: str) -> ResourceCheck:
    return check


def _decided(check: _Check, verb: str) -> AccessDecision:
    authorizer = check.authorizer
    allowed, reason = authorizer.decide(authorizer.account, {**check.wanted, "verb": verb})
    return AccessDecision(allowed=allowed, reason=reason)


_METHODS: tuple[tuple[str, str, Implementation], ...] = (
    ("authorizer_path", "path(Authorizer, string) -> PathCheck", _path),
    ("pathcheck_check", "check(PathCheck, string) -> Decision", _decided),
    ("resourcecheck_check", "check(ResourceCheck, string) -> Decision", _decided),
    ("authorizer_group", "group(Authorizer, string) -> GroupCheck", _group),
    (
        "authorizer_serviceaccount",
        "serviceAccount(Authorizer, string, string) -> Authorizer",
        _account,
    ),
    ("groupcheck_resource", "resource(GroupCheck, string) -> ResourceCheck", _resource),
    (
        "resourcecheck_subresource",
        "subresource(ResourceCheck, string) -> ResourceCheck",
        _with("subresource"),
    ),
    (
        "resourcecheck_namespace",
        "namespace(ResourceCheck, string) -> ResourceCheck",
        _with("namespace"),
    ),
    ("resourcecheck_name", "name(ResourceCheck, string) -> ResourceCheck", _with("name")),
    (
        "authorizer_fieldselector",
        "fieldSelector(ResourceCheck, string) -> ResourceCheck",
        _unchanged,
    ),
    (
        "authorizer_labelselector",
        "labelSelector(ResourceCheck, string) -> ResourceCheck",
        _unchanged,
    ),
    ("decision_errored", "errored(Decision) -> bool", lambda _: False),
    ("decision_error", "error(Decision) -> string", lambda _: ""),
    ("decision_allowed", "allowed(Decision) -> bool", lambda decision: decision.allowed),
    ("decision_reason", "reason(Decision) -> string", lambda decision: decision.reason),
)
_TYPES = ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")


def _qualified(signature: str) -> str:
    for name in _TYPES:
        signature = signature.replace(name, _GROUP + name)
    return signature


OVERLOADS = tuple(
    method(overload_id, _qualified(signature), run) for overload_id, signature, run in _METHODS
)
