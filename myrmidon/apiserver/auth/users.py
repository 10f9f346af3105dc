"""Who is asking: bearer tokens to users."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from myrmidon.apiserver.failures import Failure

AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
MASTERS = "system:masters"
_PUBLIC_PATHS = ("/healthz", "/livez", "/readyz", "/version")


@dataclass(frozen=True, slots=True)
class User:
    """The user of a request, with their groups."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""

    def with_group(self, group: str) -> "User":
        """The same user with one more group, at the end."""
        return self if group in self.groups else User(self.name, (*self.groups, group), self.uid)


ANONYMOUS = User("system:anonymous", (UNAUTHENTICATED,))
ADMIN = User("kubernetes-admin", (MASTERS, AUTHENTICATED))


class Attributes(NamedTuple):
    """What a user wants to do, as authorizers see it.  ``path`` is set for non-resource requests."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Authorizer(Protocol):
    """Decides who may do what."""

    def allows(self, user: User, attributes: Attributes) -> bool:
        """Whether the user may do that."""
        ...


class AllowAll:
    """The authorizer of a server on which RBAC is off: every user with a valid token may do all.

    A request without a token may only ask whether the server is there.
    """

    def allows(self, user: User, attributes: Attributes) -> bool:
        """Whether the user has a token, or asks for a public path."""
        return user is not ANONYMOUS or attributes.path.startswith(_PUBLIC_PATHS)


class Tokens:
    """The users, by token.  Without any token, every request is made by the administrator."""

    def __init__(self, users: Mapping[str, User] | None = None) -> None:
        self._users = {
            token: user.with_group(AUTHENTICATED) for token, user in (users or {}).items()
        }

    @property
    def is_open(self) -> bool:
        """Whether requests need no token, as there are none."""
        return not self._users

    def find(self, token: str) -> User | None:
        """The user of a token, if it has one."""
        return self._users.get(token)

    def identify(self, headers: Mapping[str, str]) -> User:
        """The user of a request; a wrong token is a failure, none at all is anonymous."""
        scheme, token, *_ = [*headers.get("authorization", "").strip().split(" "), "", ""]
        if not self._users:
            return ADMIN
        if scheme.lower() != "bearer" or not token:
            return ANONYMOUS
        user = self._users.get(token)
        if user is None:
            raise Failure(401, "Unauthorized", "Unauthorized", details=False)
        return user


def forbidden(user: User, wanted: Attributes, reason: str = "") -> Failure:
    """403, with the sentence that people search for."""
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
