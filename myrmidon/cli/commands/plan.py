"""Show what a pass over an object would write, without writing it.

  myrmidon plan examples/web_app shop.yaml       the object of a file, new or changed
  myrmidon plan examples/web_app webapp/shop     an object of the cluster

The object and what the controller reads of the cluster are copied into an embedded server, and the
pass runs there: the cluster is only read.  Without a cluster the copy is empty.  Admission
webhooks of the cluster are not asked.  An ``External`` is only observed; a state that calls another
system itself calls it here as well, unless it asks ``ctx.planning``.  A warning names the calls that
were found in its code.  The values of Secrets are not shown.
"""

import argparse
import asyncio
import os
import sys
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json, namespace_of, uid_of
from myrmidon.api.objects.refs import Kind, ObjectRef, split_api_version
from myrmidon.api.requests.paths import object_path
from myrmidon.api.requests.request import Patch
from myrmidon.apiserver.server import ApiServer
from myrmidon.cli.arguments.clusters import add_cluster_arguments, reading
from myrmidon.cli.arguments.named_objects import missing
from myrmidon.cli.plans.external_calls import external_calls
from myrmidon.cli.plans.planned_writes import story, told_write
from myrmidon.cli.progress import doing
from myrmidon.cli.targets.loading import load, made
from myrmidon.errors import NotFoundError, UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.remote_clusters import clusters_of
from myrmidon.fsm.status.status_home import statuses_of
from myrmidon.io.client import Client
from myrmidon.io.lists.scope import Scope
from myrmidon.runtime import ManagerOptions
from myrmidon.runtime.startup.preflight import install
from myrmidon.runtime.views.children import recorded
from myrmidon.testing import Harness
from myrmidon.testing.harness.misuse import documents


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("target", help="pkg.module[:Controller], or a folder with a controller.py")
    parser.add_argument("object", metavar="FILE|KIND/NAME", help="a YAML file, or an object")
    parser.add_argument("-n", "--namespace", default="default", metavar="NS")
    add_cluster_arguments(parser)
    parser.add_argument(
        "--offline", action="store_true", help="do not read a cluster; plan as if it were empty"
    )


def run(args: argparse.Namespace) -> int:
    """Copy the objects, run one pass, print its writes."""
    classes = load([args.target])
    path = Path(args.object)
    manifests = list(documents(path)) if path.is_file() else []
    own = [(cls, m) for m in manifests for cls in classes if _is_of(cls.kind(), m)]
    if path.is_file() and not own:
        names = ", ".join(cls.kind().kind for cls in classes)
        raise UsageError(
            f"{path} does not hold an object that {args.target} controls.\n  fix: add a {names} to the file"
        )
    refs = [(cls, _ref_of(cls.kind(), manifest, args.namespace)) for cls, manifest in own]
    refs = refs or [_named(classes, args.object, args.namespace)]
    offline = args.offline or not _has_cluster(args)
    if offline and not manifests:
        raise UsageError(
            f"{args.object} is not a file, and no cluster is configured in which to look for it.\n"
            "  fix: name a file, or choose a cluster with --kubeconfig"
        )
    if offline:
        print("(as if the cluster were empty)\n")
    for line in (line for cls in dict.fromkeys(cls for cls, _ in refs) for line in _effects(cls)):
        print(line, file=sys.stderr)
    for cls, ref in refs:
        copied = [] if offline else asyncio.run(_read(args, cls, ref, expected=not manifests))
        others = [m for cls, m in own if _ref_of(cls.kind(), m, args.namespace) != ref]
        _tell(cls, ref, copied, [m for m in manifests if m not in others], args.namespace)
    return 0


def _effects(cls: type[Controller[Any]]) -> Iterator[str]:
    """Yield a warning about the calls that the plan makes to other systems, if there are any."""
    calls = external_calls(cls)
    if calls:
        yield f"warning: a plan runs the states of {cls.__name__}, and with them these calls:"
        yield from (f"  {call.text}  ({call.where})" for call in calls)
        yield (
            "  fix: if they have effects, write `if not ctx.planning:` before them, "
            "or make the system an External\n"
        )


# ------------------------------------------------------------------------------- reading


def _has_cluster(args: argparse.Namespace) -> bool:
    pod = "KUBERNETES_SERVICE_HOST" in os.environ
    home = Path("~/.kube/config").expanduser().is_file()
    return bool(args.kubeconfig or args.context or os.environ.get("KUBECONFIG") or pod or home)


async def _read(
    args: argparse.Namespace, cls: type[Controller[Any]], ref: ObjectRef, *, expected: bool
) -> list[Json]:
    """The object and everything that a pass over it could read."""
    clusters = clusters_of(cls)
    if clusters:
        raise UsageError(
            f"{cls.__name__} uses remote clusters ({', '.join(clusters)}), which a plan does not read.\n"
            "  fix: try it in a test, with Harness(..., remotes=...)"
        )
    async with reading(args) as (client, _):
        parent = await _found(client, ref)
        if parent is None:
            await _check_absence(client, cls, ref, expected=expected)
        found = [parent] if parent is not None else []
        for kind in dict.fromkeys((*cls.managed_kinds, *cls.read_kinds)):
            if kind != ref.kind:
                found += await _listed(client, cls, kind, ref.namespace)
        for child in _recorded(cls, parent or {}):
            if child.namespace not in {"", ref.namespace}:
                found += [obj for obj in (await _found(client, child),) if obj is not None]
    return found


async def _check_absence(
    client: Client, cls: type[Controller[Any]], ref: ObjectRef, *, expected: bool
) -> None:
    """Say that the kind is not served; raise if an object of the cluster was expected."""
    try:
        await client.fetch(Scope(ref.kind, ref.namespace).list_request(limit=1))
    except NotFoundError:
        problem = f"the cluster does not serve {ref.kind.kind} ({ref.kind.api_version})"
        if expected:
            raise UsageError(
                f"{problem}, so it has no {ref}.\n  fix: {install(made(cls), ref.kind)}, "
                "or plan the object of a file"
            ) from None
        print(f"({problem} yet: {install(made(cls), ref.kind)})\n")
        return
    if expected:
        raise missing(ref)


async def _listed(
    client: Client, cls: type[Controller[Any]], kind: Kind, namespace: str
) -> list[Json]:
    """Return the objects of a kind that a pass may read; none of a kind that is not served."""
    try:
        return await client.list(kind, namespace if kind.namespaced else "")
    except NotFoundError:
        print(
            f"(the cluster does not serve {kind.kind} ({kind.api_version}); planned as if it had none. "
            f"A controller waits for it: {install(made(cls), kind)})\n"
        )
        return []


async def _found(client: Client, ref: ObjectRef) -> Json | None:
    try:
        return await client.get(ref)
    except NotFoundError:
        return None


def _recorded(cls: type[Controller[Any]], parent: Json) -> Iterator[ObjectRef]:
    for status in statuses_of(parent).values():
        for child in recorded({"status": status}, cls.managed_kinds):
            if child.kind in cls.managed_kinds:
                yield child


def _named(
    classes: Iterable[type[Controller[Any]]], text: str, namespace: str
) -> tuple[type[Controller[Any]], ObjectRef]:
    """``webapp/shop``, in the spellings that kubectl takes."""
    word, slash, name = text.partition("/")
    known = []
    for cls in classes:
        kind, definition = cls.kind(), getattr(cls.resource, "DEFINITION", None)
        names = [kind.kind.lower(), kind.plural]
        if definition is not None:
            names = [definition.singular, *names, *definition.short_names]
        known.append(names[0])
        if slash and word.lower() in names:
            return cls, ObjectRef(kind, name, namespace if kind.namespaced else "")
    raise UsageError(
        f"{text} is neither a file nor an object of this target.\n"
        f"  fix: name a YAML file, or {' or '.join(f'{each}/NAME' for each in known)}"
    )


# ------------------------------------------------------------------------------ planning


def _tell(
    cls: type[Controller[Any]],
    ref: ObjectRef,
    copied: list[Json],
    manifests: list[Json],
    namespace: str,
) -> None:
    doing(f"planning a pass over {ref}")
    options = ManagerOptions(trace=True, seed=0, planning=True)
    remotes = {name: ApiServer() for name in clusters_of(cls)}
    with Harness(
        made(cls), actors=(), options=options, namespace=namespace, remotes=remotes
    ) as cluster:
        for definition in _stand_ins(cls, cluster.server):
            cluster.server.create(definition)
        for obj in (*_namespaces(ref, copied, manifests), *copied):
            adopt(cluster.server, obj)
        for manifest in manifests:
            _apply(cluster.server, manifest, namespace)
        before = {uid_of(obj): obj for obj in cluster.stored()}
        cluster.step()
        views = [one for one in cluster.manager.snapshot().objects if one.ref == ref]
        print(story(ref, views))
        if not cluster.writes:
            print("nothing would be written\n")
        for one in cluster.writes:
            print(told_write(one, before.get(uid_of(one.answer))))
            if not one.path.endswith("/scale"):  # the answer is a Scale, not the object
                before[uid_of(one.answer)] = one.answer


def _apply(server: ApiServer, manifest: Json, namespace: str) -> None:
    """Create or change an object as its user would; the controllers do not run yet."""
    group, version = split_api_version(str(manifest["apiVersion"]))
    found = server.core.registry.find_kind(group, version, str(manifest["kind"]))
    where = namespace_of(manifest) or namespace
    name = manifest["metadata"]["name"]
    if found is not None and found.kind.namespaced:
        manifest = {**manifest, "metadata": {**manifest["metadata"], "namespace": where}}
    problem = ""
    if found is None or server.store.get(found.stored_as, found.key(where, name)) is None:
        problem = server.create(manifest)
    else:
        path = object_path(ObjectRef(found.kind, name, where))
        answer = server.request("PATCH", path, manifest, content_type=Patch.MERGE.value)
        problem = "" if answer.status == 200 else answer.body.decode()
    if problem:
        raise UsageError(f"the object cannot be planned with: {problem}")


def adopt(server: ApiServer, obj: Json) -> None:
    """Put an object into a server as another one had it, its uid included."""
    group, version = split_api_version(str(obj["apiVersion"]))
    found = server.core.registry.find_kind(group, version, str(obj["kind"]))
    if found is None:
        raise UsageError(
            f"{obj['kind']} ({obj['apiVersion']}) cannot be copied into the plan: its definition is not part "
            "of the target.\n  fix: plan with --offline, or try it in a test, with Harness(...)"
        )
    meta = obj["metadata"]
    value = deepcopy(obj)
    stored = value if found.is_storage else found.strategy.store(value)
    server.store.put(found.stored_as, found.key(namespace_of(obj), str(meta["name"])), stored)


def _stand_ins(cls: type[Controller[Any]], server: ApiServer) -> Iterator[Json]:
    """Yield a definition that takes any field for each declared kind that the copy does not serve.

    These are custom kinds of other programs; without them the controller would wait for the kind.
    """
    for kind in dict.fromkeys((*cls.managed_kinds, *cls.read_kinds)):
        if kind.cluster or server.core.registry.find_kind(kind.group, kind.version, kind.kind):
            continue
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        yield {
            "apiVersion": kinds.CUSTOM_RESOURCE_DEFINITION.api_version,
            "kind": kinds.CUSTOM_RESOURCE_DEFINITION.kind,
            "metadata": {"name": f"{kind.plural}.{kind.group}"},
            "spec": {
                "group": kind.group,
                "names": {"kind": kind.kind, "plural": kind.plural},
                "scope": "Namespaced" if kind.namespaced else "Cluster",
                "versions": [
                    {
                        "name": kind.version,
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": schema},
                        "subresources": {"status": {}},
                    }
                ],
            },
        }


def _namespaces(ref: ObjectRef, copied: list[Json], manifests: list[Json]) -> Iterator[Json]:
    """The namespaces that objects live in; without them the copy would refuse to create any."""
    names = {ref.namespace, *(namespace_of(obj) for obj in (*copied, *manifests))}
    for name in sorted(names - {"", "default"}):
        yield {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "uid": f"namespace-{name}"},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }


# ------------------------------------------------------------------------------- objects


def _is_of(kind: Kind, manifest: Json) -> bool:
    return (manifest.get("apiVersion"), manifest.get("kind")) == (kind.api_version, kind.kind)


def _ref_of(kind: Kind, manifest: Json, namespace: str) -> ObjectRef:
    where = (namespace_of(manifest) or namespace) if kind.namespaced else ""
    return ObjectRef(kind, manifest["metadata"]["name"], where)
