"""Preflight: finds at start-up what would make every watch fail.

It lists each declared kind once, with a limit of one object.  A missing CRD, missing permissions,
wrong credentials or an unreachable server become one ``UsageError`` with its fix, instead of a log
full of retries.
"""

from collections.abc import Iterable
from inspect import getfile
from pathlib import Path
from typing import Any

from myrmidon.api.objects.refs import Kind
from myrmidon.errors import (
    ForbiddenError,
    NotFoundError,
    TransportError,
    UnauthorizedError,
    UsageError,
)
from myrmidon.fsm.controller import Controller
from myrmidon.io.client import Client
from myrmidon.io.lists.scope import Scope


async def preflight(
    client: Client, controllers: Iterable[Controller[Any]], namespaces: Iterable[str] = ()
) -> None:
    """List every declared kind once; raise UsageError for the first one that cannot be listed."""
    seen: dict[Kind, None] = {}
    for controller in controllers:
        spaces = controller.options.namespaces or tuple(namespaces) or ("",)
        for kind in (controller.kind(), *controller.managed_kinds, *controller.read_kinds):
            if kind not in seen:
                seen[kind] = None
                await _look(client, controller, Scope(kind, spaces[0] if kind.namespaced else ""))


async def _look(client: Client, controller: Controller[Any], scope: Scope) -> None:
    kind = scope.kind
    try:
        await client.fetch(scope.list_request(limit=1))
    except NotFoundError:
        raise UsageError(
            f"the cluster does not know the kind {kind.kind} ({kind.api_version}), which "
            f"{type(controller).__name__} needs.\n"
            f"  fix: install its definition, `myrmidon generate crd {_file(controller)} "
            "| kubectl apply -f -`"
        ) from None
    except UnauthorizedError as error:
        raise UsageError(
            f"the cluster does not accept the credentials: {error.message}.\n"
            "  fix: log in again, or choose another --context"
        ) from None
    except ForbiddenError as error:
        raise UsageError(
            f"{type(controller).__name__} may not list {kind.plural}: {error.message}.\n"
            "  fix: let an administrator apply the role, "
            f"`myrmidon generate rbac {_file(controller)}`"
        ) from None
    except TransportError as error:
        raise UsageError(
            f"no cluster reachable: {error}.\n"
            "  fix: check the server in your kubeconfig, or try `myrmidon dev`, which needs no "
            "cluster"
        ) from None


def _file(controller: Controller[Any]) -> str:
    """Return the file of the controller for a command line, relative to the current directory."""
    try:
        path = Path(getfile(type(controller)))
    except (TypeError, OSError):
        return "MODULE"  # defined at an interactive prompt
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
