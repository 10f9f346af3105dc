"""Access reviews and token reviews: objects that the server answers and never stores."""

from collections.abc import Callable, Mapping

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.auth.account_tokens import ISSUER, TokenError
from myrmidon.apiserver.auth.rbac import RoleAuthorizer
from myrmidon.apiserver.auth.users import Attributes, User
from myrmidon.apiserver.refusals.causes import invalid
from myrmidon.apiserver.refusals.failures import Failure, StatusCause, bad_request, invalid_object
from myrmidon.apiserver.requests.call import Call
from myrmidon.apiserver.verbs import managed_fields
from myrmidon.apiserver.verbs.bodies import decode_fields, read_object
from myrmidon.apiserver.verbs.options import read_write_options


def is_review(call: Call) -> bool:
    """Whether the resource type is a review."""
    return call.type.kind.kind in _REVIEWS and call.type.kind.group.startswith("auth")


def review(call: Call) -> Json:
    """Return the review in the body, with its status filled in."""
    body, _ = read_object(call)
    obj, _ = decode_fields(call, body)
    kind = call.type.kind
    obj.setdefault("metadata", {})
    obj["apiVersion"], obj["kind"] = kind.api_version, kind.kind
    read_write_options(call, "CreateOptions")
    if kind.kind.endswith(("AccessReview", "TokenReview")):
        managed_fields.begin(call, obj)
    status = _REVIEWS[kind.kind](call, obj.get("spec") or {})
    if kind.kind == "SelfSubjectReview":
        obj["metadata"]["creationTimestamp"] = call.timestamp
    elif kind.kind == "SelfSubjectRulesReview":
        obj["spec"] = {}  # the real server returns an empty spec
    return {**obj, "status": status}


def _own_access(call: Call, spec: Json) -> Json:
    return _access(call, call.user, spec)


def _access_of(call: Call, spec: Json) -> Json:
    if not spec.get("user") and not spec.get("groups"):
        problem = invalid("spec.user", "", "at least one of user or group must be specified")
        raise _invalid(problem)
    wanted = spec.get("resourceAttributes")
    if wanted is not None and call.route.namespace not in {"", wanted.get("namespace", "")}:
        field = "spec.resourceAttributes.namespace"
        raise _invalid(invalid(field, wanted.get("namespace", ""), "must match metadata.namespace"))
    groups = tuple(spec.get("groups") or ())
    return _access(call, User(spec.get("user", ""), groups, spec.get("uid", "")), spec)


def _access(call: Call, user: User, spec: Json) -> Json:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) == (path is None):
        if resource is None:
            field, value = "spec.resourceAttributes", "null"
            text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        else:
            field, value = "spec.nonResourceAttributes", "null"
            text = "cannot be specified in combination with resourceAttributes"
        raise _invalid(invalid(field, value, text))
    authorizer, wanted = call.core.authorizer, _attributes(resource, path or {})
    if not isinstance(authorizer, RoleAuthorizer):
        return {"allowed": authorizer.allows(user, wanted)}
    reason = authorizer.reason(user, wanted)
    if not reason:
        return {"allowed": reason is not None}
    return {"allowed": True, "reason": reason}


def _invalid(cause: StatusCause) -> Failure:
    return invalid_object("", "authorization.k8s.io", "", [cause])


def _attributes(resource: Json | None, path: Json) -> Attributes:
    if resource is None:
        return Attributes(path.get("verb", ""), path=path.get("path", ""))
    return Attributes(
        resource.get("verb", ""),
        resource.get("group", ""),
        resource.get("version", ""),
        resource.get("resource", ""),
        resource.get("subresource", ""),
        resource.get("namespace", ""),
        resource.get("name", ""),
    )


def _own_rules(call: Call, spec: Json) -> Json:
    namespace = spec.get("namespace", "")
    if not namespace:
        raise bad_request("no namespace on request")
    authorizer = call.core.authorizer
    if not isinstance(authorizer, RoleAuthorizer):
        rules: list[Json] = [
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
            {"verbs": ["*"], "nonResourceURLs": ["*"]},
        ]
    else:
        rules = list(authorizer.rules(call.user, namespace))
    return {
        "resourceRules": [rule for rule in rules if "resources" in rule],
        "nonResourceRules": [rule for rule in rules if "nonResourceURLs" in rule],
        "incomplete": False,
    }


def _own_identity(call: Call, _spec: Json) -> Json:
    return {"userInfo": _user_info(call.user)}


def _token(call: Call, spec: Json) -> Json:
    if not spec.get("token"):
        raise bad_request("token is required for TokenReview in authentication")
    audiences = spec.get("audiences") or [ISSUER]
    user = call.core.tokens.find(spec["token"]) if ISSUER in audiences else None
    common = [ISSUER]
    if user is None:
        try:
            user, common = call.core.accounts.read(spec["token"], call.draws.now, audiences)
        except TokenError as error:
            unknown = "invalid bearer token"
            return {"user": {}, "error": f"[{unknown}, {error}]" if str(error) else unknown}
    return {"authenticated": True, "user": _user_info(user), "audiences": common}


def _user_info(user: User) -> Json:
    found = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra},
    }
    return {key: value for key, value in found.items() if value}


_REVIEWS: Mapping[str, Callable[[Call, Json], Json]] = {
    "SelfSubjectAccessReview": _own_access,
    "SubjectAccessReview": _access_of,
    "LocalSubjectAccessReview": _access_of,
    "SelfSubjectRulesReview": _own_rules,
    "SelfSubjectReview": _own_identity,
    "TokenReview": _token,
}
