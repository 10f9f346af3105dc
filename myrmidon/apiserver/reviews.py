"""Questions about rights and identities: objects that are answered and never stored."""

from collections.abc import Callable, Mapping

from myrmidon.api.objects import Json
from myrmidon.apiserver.auth import MASTERS, Attributes, User
from myrmidon.apiserver.bodies import decode_failure, read_object
from myrmidon.apiserver.call import Call
from myrmidon.apiserver.causes import invalid, required
from myrmidon.apiserver.rbac import RoleAuthorizer
from myrmidon.apiserver.strategy import DecodeError


def is_review(call: Call) -> bool:
    """Whether objects of this type are questions."""
    return call.type.kind.kind in _REVIEWS and call.type.kind.group.startswith("auth")


def review(call: Call) -> Json:
    """The question with its answer as the status."""
    body, _ = read_object(call)
    try:
        obj, _ = call.type.strategy.decode(body)
    except DecodeError as error:
        raise decode_failure(call, error) from None
    obj.setdefault("metadata", {})
    obj["apiVersion"], obj["kind"] = call.type.kind.api_version, call.type.kind.kind
    obj["status"] = _REVIEWS[call.type.kind.kind](call, obj.get("spec") or {})
    return obj


def _own_access(call: Call, spec: Json) -> Json:
    return _access(call, call.user, spec)


def _access_of(call: Call, spec: Json) -> Json:
    if not spec.get("user") and not spec.get("groups"):
        problem = invalid("spec.user", "", "at least one of user or group must be specified")
        raise call.invalid({"kind": call.type.kind.kind}, "", [problem])
    groups = tuple(spec.get("groups") or ())
    return _access(call, User(spec.get("user", ""), groups, spec.get("uid", "")), spec)


def _access(call: Call, user: User, spec: Json) -> Json:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) == (path is None):
        field = "spec.resourceAttributes"
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise call.invalid({"kind": call.type.kind.kind}, "", [required(field, text)])
    allowed = call.core.authorizer.allows(user, _attributes(resource, path or {}))
    return {"allowed": True} if allowed else {"allowed": False}


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
        problem = required("spec.namespace", "")
        raise call.invalid({"kind": call.type.kind.kind}, "", [problem])
    authorizer = call.core.authorizer
    if not isinstance(authorizer, RoleAuthorizer) or MASTERS in call.user.groups:
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
    user = call.core.tokens.find(spec.get("token", ""))
    if user is None:
        return {"user": {}, "error": "[invalid bearer token, unknown]"}
    return {"authenticated": True, "user": _user_info(user)}


def _user_info(user: User) -> Json:
    found = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    return {key: value for key, value in found.items() if value}


_REVIEWS: Mapping[str, Callable[[Call, Json], Json]] = {
    "SelfSubjectAccessReview": _own_access,
    "SubjectAccessReview": _access_of,
    "LocalSubjectAccessReview": _access_of,
    "SelfSubjectRulesReview": _own_rules,
    "SelfSubjectReview": _own_identity,
    "TokenReview": _token,
}
