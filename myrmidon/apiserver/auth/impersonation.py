"""Impersonation: the ``Impersonate-…`` headers that ``kubectl --as`` sends.

The user of the request needs the right to impersonate the requested user or service account, and
each requested group and uid.  The right is either the verb ``impersonate`` in the core group, or
the verb of the resource in ``authentication.k8s.io`` (``impersonate:user-info``,
``impersonate:serviceaccount``).
"""

from collections.abc import Iterator, Mapping

from myrmidon.apiserver.auth.users import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    Attributes,
    Authorizer,
    User,
    forbidden,
)
from myrmidon.apiserver.refusals.failures import bad_request

_NAME, _GROUP, _UID = "impersonate-user", "impersonate-group", "impersonate-uid"
_ACCOUNT = "system:serviceaccount:"
_AUTHENTICATION = "authentication.k8s.io"


def impersonated(user: User, headers: Mapping[str, str], authorizer: Authorizer) -> User:
    """Return the effective user of a request: the impersonated one if the headers name one.

    Raise a 403 if ``user`` may not impersonate, and a 400 for groups or a uid without a user name.
    """
    name = headers.get(_NAME, "")
    if not name:
        if _GROUP in headers or _UID in headers:
            raise bad_request("requested a group or uid without impersonating a user name")
        return user
    groups = tuple(text.strip() for text in headers.get(_GROUP, "").split(",") if text.strip())
    wanted = User(name, groups, headers.get(_UID, ""))
    for right in _rights(wanted):
        legacy = right._replace(verb="impersonate", group="")
        if not authorizer.allows(user, legacy) and not authorizer.allows(user, right):
            raise forbidden(user, right)
    return _complete(wanted)


def _rights(wanted: User) -> Iterator[Attributes]:
    """Yield the rights that are needed to impersonate a user, its groups and its uid."""
    if wanted.name.startswith(_ACCOUNT):
        namespace, _, account = wanted.name.removeprefix(_ACCOUNT).partition(":")
        yield Attributes(
            "impersonate:serviceaccount",
            _AUTHENTICATION,
            resource="serviceaccounts",
            namespace=namespace,
            name=account,
        )
    else:
        yield _right("users", wanted.name)
    for group in wanted.groups:
        yield _right("groups", group)
    if wanted.uid:
        yield _right("uids", wanted.uid)


def _right(resource: str, name: str) -> Attributes:
    return Attributes("impersonate:user-info", _AUTHENTICATION, resource=resource, name=name)


def _complete(user: User) -> User:
    """Return the user with the groups that every such user has, like ``system:authenticated``."""
    if user.name == ANONYMOUS.name:
        return user.with_group(UNAUTHENTICATED)
    if user.name.startswith(_ACCOUNT) and not user.groups:
        namespace = user.name.removeprefix(_ACCOUNT).partition(":")[0]
        own = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        user = User(user.name, own, user.uid)
    return user.with_group(AUTHENTICATED)
