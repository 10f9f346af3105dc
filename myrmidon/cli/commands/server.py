"""Run a Kubernetes API server in memory.

It serves until Ctrl-C and forgets everything then.  A kubeconfig file makes it the cluster of kubectl:

    myrmidon server --kubeconfig-out /tmp/kubeconfig &
    kubectl --kubeconfig /tmp/kubeconfig get namespaces

Without --actors no Deployment becomes available: only namespaces, definitions and the garbage collector
are looked after.
"""

import argparse
import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from myrmidon.apiserver.actors import cluster_actors, housekeepers
from myrmidon.apiserver.auth.users import MASTERS, User
from myrmidon.apiserver.fronts.http import serve
from myrmidon.apiserver.server import ApiServer
from myrmidon.cli.arguments.parser import port
from myrmidon.cli.local.embedded_server import (
    RealEnvironment,
    cannot_listen,
    new_signing_key,
    new_token,
    write_kubeconfig,
)
from myrmidon.cli.progress import ready
from myrmidon.cli.signals import on_stop
from myrmidon.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at")
    parser.add_argument("--port", type=port, default=0, help="the port; 0 takes a free one")
    parser.add_argument("--kubeconfig-out", type=Path, metavar="FILE", help="write a kubeconfig")
    parser.add_argument(
        "--token", metavar="TOKEN", help="the token of the administrator (default: a random one)"
    )
    parser.add_argument(
        "--anonymous",
        action="store_true",
        help="need no token: every local client is the administrator",
    )
    parser.add_argument(
        "--user",
        action="append",
        default=[],
        metavar="TOKEN=NAME[:GROUP,...]",
        help="another user, who may do what RBAC allows; may be repeated",
    )
    parser.add_argument(
        "--tls", action="store_true", help="serve HTTPS with a generated certificate"
    )
    parser.add_argument(
        "--actors",
        action="store_true",
        help="run stand-ins for the controllers and kubelets of a cluster, as `myrmidon dev` does: a "
        "Deployment becomes available, a pod runs",
    )
    parser.add_argument(
        "--manifests", type=Path, metavar="DIR", help="create the objects of a folder"
    )
    parser.add_argument(
        "--feature-gate",
        action="append",
        default=[],
        metavar="NAME",
        help="a feature gate of kube-apiserver that is on: ShardedListAndWatch; may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    if args.anonymous and (args.token or args.user):
        raise UsageError(
            "--anonymous needs no users.\n  fix: leave out --anonymous, or --token and --user"
        )
    rbac = bool(args.token or args.user)
    if not args.token and not args.anonymous:
        args.token = new_token()
    users = _users(args)
    manifests = list(_manifests(args.manifests)) if args.manifests else []
    actors = cluster_actors() if args.actors else housekeepers()
    server = ApiServer(
        environment=RealEnvironment(),
        users=users,
        actors=actors,
        rbac=rbac,
        signing_key=new_signing_key,
        feature_gates=args.feature_gate,
    )
    for path, manifest in manifests:
        _create(server, path, manifest)
    asyncio.run(_serve(args, server))
    return 0


def _users(args: argparse.Namespace) -> dict[str, User]:
    users: dict[str, User] = {}
    if args.token:
        users[args.token] = User("kubernetes-admin", (MASTERS,))
    for text in args.user:
        token, found, rest = text.partition("=")
        name, _, groups = rest.partition(":")
        if not found or not token or not name:
            raise UsageError(
                f"--user {text} does not name a token and a user.\n"
                "  fix: write --user TOKEN=NAME or --user TOKEN=NAME:GROUP,GROUP"
            )
        users[token] = User(name, tuple(group for group in groups.split(",") if group))
    return users


def _manifests(folder: Path) -> Iterator[tuple[Path, Any]]:
    import yaml  # noqa: PLC0415 - only with --manifests

    if not folder.is_dir():
        raise UsageError(
            f"--manifests {folder} is not a folder.\n  fix: name a folder with .yaml or .json files"
        )
    for path in sorted((*folder.glob("*.yaml"), *folder.glob("*.yml"), *folder.glob("*.json"))):
        try:
            documents = list(yaml.safe_load_all(path.read_text()))
        except yaml.YAMLError as error:
            said = " ".join(str(error).split())
            raise UsageError(f"{path} cannot be read: {said}.\n  fix: correct the file") from None
        for document in documents:
            if document is not None:
                yield path, document


def _create(server: ApiServer, path: Path, manifest: Any) -> None:
    problem = server.create(manifest)
    if problem:
        raise UsageError(f"{path}: {problem}.\n  fix: correct the object, or remove it")


async def _serve(args: argparse.Namespace, server: ApiServer) -> None:
    stopped = asyncio.Event()
    on_stop(stopped.set)
    certificate = _certificate(args.host) if args.tls else None
    context = certificate.context() if certificate else None
    try:
        async with serve(server, host=args.host, port=args.port, tls=context) as url:
            if args.kubeconfig_out:
                authority = certificate.pem if certificate else b""
                write_kubeconfig(args.kubeconfig_out, url, args.token or "", authority)
            ready()
            print(f"serving {url}", flush=True)
            if args.token and not args.kubeconfig_out:
                print(f"the token of the administrator is {args.token}", flush=True)
            await stopped.wait()
    except OSError as error:
        raise cannot_listen(args.host, args.port, error) from None


def _certificate(host: str) -> Any:
    with contextlib.suppress(ImportError):
        from myrmidon.cli.local.certificates import make_certificate  # noqa: PLC0415 - only with --tls

        return make_certificate(host)
    raise UsageError(
        "--tls needs the package cryptography, which is not installed.\n"
        "  fix: pip install 'myrmidon[tls]'"
    )
