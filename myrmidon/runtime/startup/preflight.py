"""Preflight: finds at start-up what would make every watch of a controller fail.

It lists each cached kind once, with a limit of one object, and tells five cases apart:

- The server does not serve the kind (404): its CRD may be installed later, so the controllers that
  need it wait (``controller_run``), and the others start.
- The credentials are wrong (401) or rights are missing (403): one ``UsageError`` with its fix,
  instead of a log full of retries.
- A selector is refused (400): a ``UsageError`` as well.
- The server cannot be reached, or is overloaded or starting (429, 5xx): the check is repeated for
  ``ManagerOptions.start_timeout``, because a controller is often started together with its API
  server.  Then it is a ``UsageError`` as well.
- Any other refusal is raised unchanged.

A kind that is not cached (``Reads.cached``) is not listed: the role has only ``get`` for it.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from inspect import getfile
from pathlib import Path
from typing import Any, TypeVar

from myrmidon.api.clock import Clock
from myrmidon.api.objects.refs import Kind
from myrmidon.api.typed.object_types import is_defined_here
from myrmidon.errors import (
    ApiError,
    BadRequestError,
    ForbiddenError,
    NotFoundError,
    ServerError,
    TooManyRequestsError,
    TransportError,
    UnauthorizedError,
    UsageError,
)
from myrmidon.fsm.controller import Controller
from myrmidon.io.client import Client
from myrmidon.io.lists.scope import Scope
from myrmidon.runtime.logs import Logger

T = TypeVar("T")

UNAVAILABLE = (TransportError, ServerError, TooManyRequestsError)
"""Errors that may be over soon: the server is not there, starting or overloaded."""
_RETRY_SECONDS, _RETRY_SECONDS_MAX = 0.5, 5.0


def declared_scopes(controller: Controller[Any], namespaces: Sequence[str]) -> list[Scope]:
    """Return a scope to list for each kind that a controller caches of its own cluster.

    ``namespaces`` are those that the controller watches; empty for all.  Remote clusters are not
    checked at the start: one that is down holds up only what reads it.
    """
    spaces = tuple(namespaces) or ("",)
    return [
        Scope(
            kind,
            (shape.namespaces or spaces)[0] if kind.namespaced else "",
            shape.selector,
            shape.field_selector,
        )
        for kind, shape in controller.shapes.items()
        if shape.cached and not kind.cluster
    ]


async def missing_kinds(
    client: Client, controller: Controller[Any], wanted: Iterable[Scope]
) -> tuple[Kind, ...]:
    """Return the kinds of those scopes that the server does not serve.

    Raise UsageError if the credentials are refused or a scope cannot be listed.
    """
    return tuple([one.kind for one in wanted if not await _is_served(client, controller, one)])


async def patiently(
    check: Callable[[], Awaitable[T]], clock: Clock, seconds: float, log: Logger
) -> T:
    """Return the result of ``check``; repeat it for ``seconds`` while the server is unavailable."""
    until, delay, told = clock.monotonic() + seconds, _RETRY_SECONDS, False
    while True:
        try:
            return await check()
        except UNAVAILABLE as error:
            if clock.monotonic() + delay > until:
                raise unreachable(error) from None
            if not told:
                log.warning(
                    "the API server is not available yet", error=str(error), seconds=seconds
                )
                told = True
        await clock.sleep(delay)
        delay = min(2 * delay, _RETRY_SECONDS_MAX)


def not_served(controller: Controller[Any], kind: Kind) -> UsageError:
    """Return the error for a kind that the cluster does not serve."""
    return UsageError(
        f"the cluster does not know the kind {kind.kind} ({kind.api_version}), which "
        f"{type(controller).__name__} needs.\n  fix: {install(controller, kind)}"
    )


def install(controller: Controller[Any], kind: Kind) -> str:
    """Return how to make the cluster serve a kind: our own definition, or another program's."""
    if is_defined_here(controller.resource) and kind.group == controller.kind().group:
        return (
            f"install its definition, `myrmidon generate crd {_file(controller)} "
            "| kubectl apply -f -`"
        )
    return f"install the program that defines {kind.plural}.{kind.group}, in version {kind.version}"


async def _is_served(client: Client, controller: Controller[Any], scope: Scope) -> bool:
    kind = scope.kind
    try:
        await client.fetch(scope.list_request(limit=1))
    except NotFoundError:
        return False
    except BadRequestError as error:
        raise UsageError(
            f"the cluster refuses to list {scope}, as {type(controller).__name__} declares it: {error.message}.\n"
            f"  fix: change selector or field_selector of {kind.kind}"
        ) from None
    except UnauthorizedError as error:
        raise unauthorized(error) from None
    except ForbiddenError as error:
        raise UsageError(
            f"{type(controller).__name__} may not list {kind.plural}: {error.message}.\n"
            "  fix: let an administrator apply the role, "
            f"`myrmidon generate rbac {_file(controller)}`"
        ) from None
    return True


def unauthorized(error: UnauthorizedError) -> UsageError:
    """Return the error for credentials that are wrong or have expired (401)."""
    return UsageError(
        f"the cluster does not accept the credentials: {error.message}.\n"
        "  fix: log in again, or choose another --context"
    )


def unreachable(error: ApiError | TransportError) -> UsageError:
    """Return the error for a server that does not answer, or answers that it is not available."""
    if isinstance(error, ApiError):
        return UsageError(
            f"the API server is not available: {error}.\n"
            "  fix: wait until it is up, or give it more time with --start-timeout"
        )
    fix = "check the server in your kubeconfig, or try `myrmidon dev`, which needs no cluster"
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        fix = (
            "the server's certificate is not signed by certificate-authority-data of your kubeconfig, or "
            "is for another host: get a new kubeconfig, or choose another --context"
        )
    elif "[SSL" in str(error):
        fix = "the server does not speak TLS: check https:// in the server of your kubeconfig"
    return UsageError(f"no cluster reachable: {error}.\n  fix: {fix}")


def _file(controller: Controller[Any]) -> str:
    """Return the file of the controller for a command line, relative to the current directory."""
    try:
        path = Path(getfile(type(controller)))
    except (TypeError, OSError):
        return "MODULE"  # defined at an interactive prompt
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
