"""Commands about one object: the arguments KIND NAME -n that name it, and how it is found."""

import argparse

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.errors import NotFoundError, UsageError
from myrmidon.io.client import Client
from myrmidon.io.discovery import Discovery


def add_object_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that name an object."""
    parser.add_argument("kind", metavar="KIND", help="as kubectl takes it: webapp, webapps, wa")
    parser.add_argument("name", metavar="NAME")
    parser.add_argument(
        "-n", "--namespace", metavar="NS", help="default: the namespace of the context"
    )


async def found(
    client: Client, discovery: Discovery, args: argparse.Namespace, namespace: str
) -> tuple[ObjectRef, Json]:
    """Return the object that the arguments name; raise ``UsageError`` if it does not exist.

    ``namespace`` is that of the kubeconfig's context, for a call without ``-n``.
    """
    try:
        kind = (await discovery.find(args.kind)).kind
    except NotFoundError:
        raise UsageError(
            f"the cluster has no kind called {args.kind!r}.\n"
            "  fix: `kubectl api-resources` lists the kinds it has; `myrmidon generate crd` writes the definition of yours"
        ) from None
    ref = ObjectRef(kind, args.name, (args.namespace or namespace) if kind.namespaced else "")
    try:
        return ref, await client.get(ref)
    except NotFoundError:
        raise missing(ref) from None


def missing(ref: ObjectRef) -> UsageError:
    """Return the error for an object that does not exist: where the objects are listed."""
    every = "-A " if ref.kind.namespaced else ""
    command = f"kubectl get {ref.kind.plural} {every}".rstrip()
    return UsageError(f"{ref} does not exist.\n  fix: `{command}` lists the objects that do")
