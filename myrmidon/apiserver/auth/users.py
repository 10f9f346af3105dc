"""Users, and the bearer tokens that identify them.

A server without tokens is open: every request is made by the administrator.  With tokens, a request
without one is anonymous, and a request with an unknown one is a 401.  Tokens of service accounts,
which the server issues itself, are read by ``account_tokens``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from myrmidon.apiserver.refusals.failures import Failure

AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
MASTERS = "system:masters"
_PUBLIC_PATHS = ("/healthz", "/livez", "/readyz", "/version")


@dataclass(frozen=True, slots=True)
class User:
    """The user of a request, with the user's groups and what else the token says."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def with_group(self, group: str) -> "User":
        """Return the same user with one more group, at the end."""
        return self if group in self.groups else replace(self, groups=(*self.groups, group))


ANONYMOUS = User("system:anonymous", (UNAUTHENTICATED,))
ADMIN = User("kubernetes-admin", (MASTERS, AUTHENTICATED))


class Attributes(NamedTuple):
    """A request as authorizers see it.  ``path`` is set for non-resource requests only."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Authorizer(Protocol):
    """Decides whether a user may make a request."""

    def allows(self, user: User, attributes: Attributes) -> bool:
        """Whether the user may make the request."""
        ...


class AllowAll:
    """The authorizer without RBAC: every user with a valid token may do everything.

    A request without a token may only read the health and version paths.
    """

    def allows(self, user: User, attributes: Attributes) -> bool:
        """Whether the user is authenticated, or the path is public."""
        return user is not ANONYMOUS or attributes.path.startswith(_PUBLIC_PATHS)


class Tokens:
    """The users by bearer token.  Without any token, every request is made by the administrator."""

    def __init__(self, users: Mapping[str, User] | None = None) -> None:
        self._users = {
            token: user.with_group(AUTHENTICATED) for token, user in (users or {}).items()
        }

    @property
    def is_open(self) -> bool:
        """Whether requests do not need a token, because none is configured."""
        return not self._users

    def find(self, token: str) -> User | None:
        """Return the user of a token, or None if the token is unknown."""
        return self._users.get(token)

    def identify(
        self, headers: Mapping[str, str], read_account: Callable[[str], User | None]
    ) -> User:
        """Return the user of a request: anonymous without a token, a 401 for an unknown token.

        ``read_account`` returns the service account of a token that the server has issued.
        """
        sent = headers.get("authorization", "")
        if not sent:
            return ANONYMOUS if self._users else ADMIN
        scheme, token, *_ = [*sent.strip().split(" "), "", ""]
        user: User | None = None
        if scheme.lower() == "bearer" and token:
            user = self._users.get(token) or read_account(token)
            if user is None and self._users:
                raise Failure(401, "Unauthorized", "Unauthorized", details=False)
        return user or (ANONYMOUS if self._users else ADMIN)


def forbidden(user: User, wanted: Attributes, reason: str = "") -> Failure:
    """Return the 403 for a request that the authorizer refused, with the real server's message."""
    tail = f": {reason}" if reason else ""
    if wanted.path:
        return Failure(
            403,
            "Forbidden",
            f'forbidden: User "{user.name}" cannot {wanted.verb} path "{wanted.path}"{tail}',
        )
    resource = f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource
    where = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    subject = f"{wanted.resource}.{wanted.group}" if wanted.group else wanted.resource
    if wanted.name:
        subject = f'{subject} "{wanted.name}"'
    return Failure(
        403,
        "Forbidden",
        f'{subject} is forbidden: User "{user.name}" cannot {wanted.verb} resource "{resource}" '
        f'in API group "{wanted.group}" {where}{tail}',
        group=wanted.group,
        kind=wanted.resource,
        name=wanted.name,
    )
