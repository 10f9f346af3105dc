"""A write as webhooks and policies see it: in the version that they match, and as variables of CEL.

``seen`` converts an object of the request to another version of its kind, ``unseen`` converts it back.
``scope_of`` returns the variables of an expression; values are the objects themselves, not copies.
"""

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.admission.reviews import review_request
from myrmidon.apiserver.auth.rbac import RoleAuthorizer
from myrmidon.apiserver.auth.users import AUTHENTICATED, Attributes, User
from myrmidon.apiserver.refusals.failures import not_found
from myrmidon.apiserver.requests.call import PendingWrite
from myrmidon.apiserver.resources.registry import ResourceType

if TYPE_CHECKING:
    from myrmidon.apiserver.cel.functions.authorization import Account

_ACCOUNTS = "system:serviceaccounts"


def seen(admission: PendingWrite, obj: Json | None, seen_as: ResourceType) -> Json | None:
    """Return an object of the request in the version in which a webhook or policy looks at it."""
    return _converted(obj, admission.call.type, seen_as, admission)


def unseen(admission: PendingWrite, obj: Json, seen_as: ResourceType) -> Json:
    """Return an object that was changed in another version in the version of the request."""
    found = _converted(obj, seen_as, admission.call.type, admission)
    assert found is not None, "an object stays an object"
    return found


def _converted(
    obj: Json | None, own: ResourceType, wanted: ResourceType, admission: PendingWrite
) -> Json | None:
    if obj is None or own is wanted or admission.kind is not None:
        return obj
    if own.custom:
        return own.strategy.convert(obj, wanted.kind.api_version)
    stored = obj if own.is_storage else own.strategy.store(copy(obj))
    return wanted.strategy.read(stored)


def redecoded(admission: PendingWrite, obj: Json) -> Json:
    """Return a changed object as it is read from a request: unknown fields dropped, defaults set.

    Raise ``DecodeError`` if it does not fit its type.
    """
    if admission.kind is not None:
        return obj
    strategy = admission.call.type.strategy
    decoded = strategy.decode(obj).obj
    strategy.default(decoded)
    return decoded


# ------------------------------------------------------------------------- variables


def scope_of(
    admission: PendingWrite,
    seen_as: ResourceType,
    *,
    params: Json | None = None,
    namespace: Json | None = None,
) -> dict[str, Any]:
    """Return the variables of an expression about this write, without ``variables``."""
    from myrmidon.apiserver.cel.functions.authorization import (  # noqa: PLC0415 - most servers need no CEL
        AuthorizerValue,
        ResourceCheck,
    )

    authorizer = AuthorizerValue(lambda account, wanted: _decide(admission, account, wanted))
    resource = {
        "group": seen_as.kind.group,
        "resource": seen_as.kind.plural,
        "subresource": admission.subresource,
        "namespace": admission.namespace,
        "name": admission.name,
    }
    return {
        "object": seen(admission, admission.obj, seen_as),
        "oldObject": seen(admission, admission.old, seen_as),
        "request": review_request(admission, seen_as),
        "params": params,
        "namespaceObject": namespace,
        "authorizer": authorizer,
        "authorizer.requestResource": ResourceCheck(authorizer, resource),
    }


def namespace_of(admission: PendingWrite) -> Json | None:
    """Return the namespace of the object as expressions see it; None for cluster-wide objects."""
    from myrmidon.apiserver.cel.admission_types import NAMESPACE_FIELDS  # noqa: PLC0415 - as above

    call = admission.call
    if not call.type.kind.namespaced:
        return None
    record = call.core.store.get("namespaces", call.route.namespace)
    if record is None:
        raise not_found("namespaces", "", call.route.namespace)
    metadata = record.value["metadata"]
    shown = {key: metadata[key] for key in metadata if key in NAMESPACE_FIELDS}
    return {
        "metadata": shown,
        "spec": record.value.get("spec") or {},
        "status": record.value.get("status") or {},
    }


def _decide(
    admission: PendingWrite, account: "Account", wanted: Mapping[str, str]
) -> tuple[bool, str]:
    call = admission.call
    user = call.user if account is None else _account(*account)
    attributes = Attributes(
        wanted["verb"],
        wanted.get("group", ""),
        "*" if "resource" in wanted else "",
        wanted.get("resource", ""),
        wanted.get("subresource", ""),
        wanted.get("namespace", ""),
        wanted.get("name", ""),
        wanted.get("path", ""),
    )
    authorizer = call.core.authorizer
    if isinstance(authorizer, RoleAuthorizer):
        reason = authorizer.reason(user, attributes)
        return reason is not None, reason or ""
    return authorizer.allows(user, attributes), ""


def _account(namespace: str, name: str) -> User:
    groups = (_ACCOUNTS, f"{_ACCOUNTS}:{namespace}", AUTHENTICATED)
    return User(f"system:serviceaccount:{namespace}:{name}", groups)
