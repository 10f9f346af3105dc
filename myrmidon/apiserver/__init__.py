"""A Kubernetes API server in the process: in memory, started in milliseconds.

The path of a request, from its bytes to the answer::

    fronts         the only asyncio: HTTP over sockets, or a transport in the same process
    server         ApiServer: the store, the registry, the users, and the actors
    handler        who asks, whether they may, and which resource type it is about
    verbs          what the request does: create, update, delete, list, watch, patch, apply, ...
    discovery      or, if it is not about a resource: discovery, OpenAPI, health
    admission      steps that may change a write or refuse it
    builtin        the kinds that every cluster has: defaults, preparation, validation, tables
    custom         the kinds of CustomResourceDefinitions
    actors         after the answer: garbage collection, namespaces, definitions, stand-ins for controllers

What these stand on::

    call           one request on its way, with what every step may look at (Core)
    outcomes       what may come of it: an answer, a watch, or something to wait for
    watches        an open watch, a cursor over the history of a resource
    store          the objects, their revisions and the history of changes; CompactedError is the 410
    resources      what every resource type has: strategy, registry, metadata, tables
    auth           users, RBAC, impersonation
    fields         server-side apply: owners of fields, conflicts, managedFields
    patches        merge and strategic merge patches
    schema         structural schemas: pruning, defaulting, validation; cel runs their rules
    catalog        recorded facts about the built-in kinds
    wire           content negotiation, YAML, protobuf
    failures       Status answers; causes names what is wrong with a field; names are the naming rules
    environment    time, uids and random letters, which come from outside
    golang         what Go does differently from Python: JSON, regular expressions, times, type names

A request is answered synchronously, by plain functions.  What cannot be answered at once is a value that
the front acts on: it waits for a revision, asks a webhook and runs the request again with the reply, or
reads a watch.  Imports go down this list only (the contract is in pyproject.toml).
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
    """Import a name when it is first used: most programs need one of them."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
