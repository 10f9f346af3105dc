"""A Kubernetes API server that runs inside the process: in memory, started in milliseconds.

The path of a request, from its bytes to the response::

    fronts         the only asyncio code: HTTP over sockets, or a transport in the same process
    server         ApiServer: the store, the registry, the users and the actors
    handling       authenticates, authorizes, finds the resource type of the path; answers a request
                   from memory that was answered before in the same circumstances
    verbs          create, update, delete, list, watch, patch, apply and the subresources
    discovery      paths that are not resources: discovery, OpenAPI, health
    admission      steps that may change a write or refuse it
    builtin        the kinds that every cluster has: defaults, preparation, validation, tables
    custom         the kinds of CustomResourceDefinitions
    actors         run after the response: garbage collection, namespaces, definitions,
                   stand-ins for the built-in controllers

The packages that these use::

    requests       one request in progress, the Core that all requests share, and the outcomes: a
                   response, a watch, or a reason to wait
    store          the objects, their revisions and their history; CompactedError is the 410
    resources      common to all resource types: strategy, registry, metadata, tables
    auth           users, RBAC, impersonation
    fields         server-side apply: owners of fields, conflicts, managedFields
    patches        merge and strategic merge patches
    schema         structural schemas: pruning, defaulting, validation; cel runs their rules
    catalog        recorded facts about the built-in kinds
    wire           content negotiation, YAML, protobuf
    refusals       Status responses, the causes that describe invalid fields, the naming rules
    golang         where Go differs from Python: JSON, regular expressions, times, type names

A request is answered synchronously, by plain functions.  If it cannot be answered at once, the
result is a value that the front acts on: it waits for a revision, calls a webhook and runs the
request again with the reply, or reads a watch.  Imports go down this list only (the contract is in
pyproject.toml).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from myrmidon.apiserver.auth.users import User
    from myrmidon.apiserver.fronts.http import serve
    from myrmidon.apiserver.fronts.local import LocalTransport
    from myrmidon.apiserver.server import ApiServer

__all__ = ["ApiServer", "LocalTransport", "User", "serve"]

_HOMES = {
    "ApiServer": "server",
    "LocalTransport": "fronts.local",
    "User": "auth.users",
    "serve": "fronts.http",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use: most programs need only one of them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
