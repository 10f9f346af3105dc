"""Preflight: finds at start-up what would make every watch fail.

It lists each cached kind once, with a limit of one object.  A missing CRD, missing permissions,
wrong credentials or an unreachable server become one ``UsageError`` with its fix, instead of a log
full of retries.
"""

from collections.abc import Iterable
from inspect import getfile
from pathlib import Path
from typing import Any

from myrmidon.errors import (
    BadRequestError,
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
    """List every cached kind once; raise UsageError for the first one that cannot be listed."""
    seen: dict[Scope, None] = {}
    for controller in controllers:
        spaces = controller.options.namespaces or tuple(namespaces) or ("",)
        for kind, shape in controller.shapes.items():
            namespace = (shape.namespaces or spaces)[0] if kind.namespaced else ""
            scope = Scope(kind, namespace, shape.selector, shape.field_selector)
            if shape.cached and scope not in seen:
                seen[scope] = None
                await _look(client, controller, scope)


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
    except BadRequestError as error:
        raise UsageError(
            f"the cluster refuses to list {scope}, as {type(controller).__name__} declares it: {error.message}.\n"
            f"  fix: change selector or field_selector of {kind.kind}"
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
