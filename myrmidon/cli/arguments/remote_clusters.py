"""``--remote NAME=CONTEXT``: connections to remote clusters.

``NAME=CONTEXT`` is a context of the kubeconfig.  ``NAME=secret/NAMESPACE/SECRET`` is a Secret of the
home cluster whose key ``kubeconfig`` holds a kubeconfig; its current context is used.  The Secret is
read once, at the start: a process whose Secret was changed has to be restarted.
"""

import argparse
import os
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import mkdtemp

from myrmidon.api.objects import kinds
from myrmidon.api.objects.refs import ObjectRef
from myrmidon.api.requests.transport import Transport
from myrmidon.cli.arguments.clusters import reading
from myrmidon.errors import UsageError
from myrmidon.io.access.kubeconfig import load_endpoint
from myrmidon.io.http.transport import HttpTransport

_KEY = "kubeconfig"
_SECRET = "secret/"  # noqa: S105 - the beginning of a reference, not a password


def remote_of(text: str) -> tuple[str, str]:
    """Return the name and the source of ``NAME=SOURCE``."""
    name, equals, source = text.partition("=")
    if not (name and equals and source):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a remote cluster; write edge=CONTEXT or edge=secret/NAMESPACE/NAME"
        )
    return name, source


async def open_remotes(args: argparse.Namespace, stack: AsyncExitStack) -> Mapping[str, Transport]:
    """Return a transport for each ``--remote``; they are closed with the stack."""
    found: dict[str, Transport] = {}
    for name, source in args.remote:
        if source.startswith(_SECRET):
            endpoint = await load_endpoint(await _from_secret(args, name, source), None)
        else:
            endpoint = await load_endpoint(args.kubeconfig, source)
        transport = HttpTransport(endpoint)
        stack.push_async_callback(transport.close)
        found[name] = transport
    return found


async def _from_secret(args: argparse.Namespace, name: str, source: str) -> Path:
    """Return a file with the kubeconfig of a Secret; only this user can read it.

    The file stays as long as the process: credentials are read from it again.
    """
    namespace, slash, secret = source.removeprefix(_SECRET).partition("/")
    if not (namespace and slash and secret):
        raise UsageError(
            f"--remote {name}={source} does not name a Secret.\n"
            f"  fix: write --remote {name}=secret/NAMESPACE/NAME"
        )
    async with reading(args) as (client, _):
        found = await client.get(ObjectRef(kinds.SECRET, secret, namespace))
    try:
        text = b64decode(found["data"][_KEY], validate=True)
    except (KeyError, TypeError, NotBase64):
        raise UsageError(
            f"the Secret {namespace}/{secret} has no kubeconfig for the cluster {name}.\n"
            f"  fix: put one into its key {_KEY!r}"
        ) from None
    folder = Path(mkdtemp(prefix="myrmidon-"))
    path = folder / _KEY
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
        file.write(text)
    return path
