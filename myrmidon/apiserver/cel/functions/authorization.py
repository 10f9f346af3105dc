"""Declarations of the authorizer's functions, without an implementation.

Rules of custom resources have no ``authorizer`` variable, but the function names exist: a rule that
calls one on another value gets the error that no overload matches, not that the function is
undeclared.
"""

from myrmidon.apiserver.cel.declarations import method
from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.cel.values import NO_OVERLOAD, Value

_GROUP = "kubernetes.authorization."
_METHODS = (
    ("authorizer_path", "path(Authorizer, string) -> PathCheck"),
    ("pathcheck_check", "check(PathCheck, string) -> Decision"),
    ("resourcecheck_check", "check(ResourceCheck, string) -> Decision"),
    ("authorizer_group", "group(Authorizer, string) -> GroupCheck"),
    ("authorizer_serviceaccount", "serviceAccount(Authorizer, string, string) -> Authorizer"),
    ("groupcheck_resource", "resource(GroupCheck, string) -> ResourceCheck"),
    ("resourcecheck_subresource", "subresource(ResourceCheck, string) -> ResourceCheck"),
    ("resourcecheck_namespace", "namespace(ResourceCheck, string) -> ResourceCheck"),
    ("resourcecheck_name", "name(ResourceCheck, string) -> ResourceCheck"),
    ("authorizer_fieldselector", "fieldSelector(ResourceCheck, string) -> ResourceCheck"),
    ("authorizer_labelselector", "labelSelector(ResourceCheck, string) -> ResourceCheck"),
    ("decision_errored", "errored(Decision) -> bool"),
    ("decision_error", "error(Decision) -> string"),
    ("decision_allowed", "allowed(Decision) -> bool"),
    ("decision_reason", "reason(Decision) -> string"),
)
_TYPES = ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")


def _nobody(*_: Value) -> Value:
    raise CelEvaluationError(NO_OVERLOAD)


def _qualified(signature: str) -> str:
    for name in _TYPES:
        signature = signature.replace(name, _GROUP + name)
    return signature


OVERLOADS = tuple(
    method(overload_id, _qualified(signature), _nobody) for overload_id, signature in _METHODS
)
