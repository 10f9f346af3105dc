"""Show what a pass over an object would write, without writing it.

  myrmidon plan examples/web_app shop.yaml       the object of a file, new or changed
  myrmidon plan examples/web_app webapp/shop     an object of the cluster

The object and what the controller reads of the cluster are copied into an embedded server, and the
pass runs there: the cluster is only read.  Without a cluster the copy is empty.  Admission
webhooks of the cluster are not asked.  An ``External`` is only observed; a state that calls another
system itself calls it here as well, unless it asks ``ctx.planning``.
"""

import argparse
import asyncio
import os
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from myrmidon.api.objects.accessors import Json, namespace_of, uid_of
from myrmidon.api.objects.refs import Kind, ObjectRef, split_api_version
from myrmidon.api.requests.paths import object_path
from myrmidon.api.requests.request import Patch
from myrmidon.apiserver.server import ApiServer
from myrmidon.cli.clusters import add_cluster_arguments, reading
from myrmidon.cli.local.workbench import documents
from myrmidon.cli.named_objects import missing
from myrmidon.cli.targets import load, made
from myrmidon.errors import NotFoundError, UsageError
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.remote_clusters import clusters_of
from myrmidon.fsm.status.status_home import statuses_of
from myrmidon.generate import to_yaml
from myrmidon.io.client import Client
from myrmidon.patch.diff import difference
from myrmidon.runtime import ManagerOptions
from myrmidon.runtime.observability.snapshot import ObjectView
from myrmidon.runtime.views.children import recorded
from myrmidon.sets.ownership.undeclared import DECLARED
from myrmidon.sets.planning import APPLIED
from myrmidon.testing import Exchange, Harness

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_SAID = ("apiVersion", "kind")
_NOISE = (
    "name", "namespace", "ownerReferences", "managedFields", "resourceVersion", "generation", "uid",
    "creationTimestamp",
)  # fmt: skip
_FRAMEWORK = ("conditions", "observedGeneration", "resourceRefs")


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
    for cls, ref in refs:
        copied = [] if offline else asyncio.run(_read(args, cls, ref, expected=not manifests))
        others = [m for cls, m in own if _ref_of(cls.kind(), m, args.namespace) != ref]
        _tell(cls, ref, copied, [m for m in manifests if m not in others], args.namespace)
    return 0


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
        if parent is None and expected:
            raise missing(ref)
        found = [parent] if parent is not None else []
        for kind in dict.fromkeys((*cls.managed_kinds, *cls.read_kinds)):
            if kind != ref.kind:
                found += await client.list(kind, ref.namespace if kind.namespaced else "")
        for child in _recorded(cls, parent or {}):
            if child.namespace not in {"", ref.namespace}:
                found += [obj for obj in (await _found(client, child),) if obj is not None]
    return found


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
    options = ManagerOptions(trace=True, seed=0, planning=True)
    remotes = {name: ApiServer() for name in clusters_of(cls)}
    with Harness(
        made(cls), actors=(), options=options, namespace=namespace, remotes=remotes
    ) as cluster:
        for obj in (*_namespaces(ref, copied, manifests), *copied):
            adopt(cluster.server, obj)
        for manifest in manifests:
            _apply(cluster.server, manifest, namespace)
        before = {uid_of(obj): obj for obj in cluster.stored()}
        cluster.step()
        views = [one for one in cluster.manager.snapshot().objects if one.ref == ref]
        print(_story(ref, views))
        if not cluster.writes:
            print("nothing would be written\n")
        for one in cluster.writes:
            print(_write(one, before.get(uid_of(one.answer))))
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
            f"{obj['kind']} ({obj['apiVersion']}) is not a kind that can be planned with"
        )
    meta = obj["metadata"]
    value = deepcopy(obj)
    stored = value if found.is_storage else found.strategy.store(value)
    server.store.put(found.stored_as, found.key(namespace_of(obj), str(meta["name"])), stored)


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


# ------------------------------------------------------------------------------- telling


def _story(ref: ObjectRef, views: list[ObjectView]) -> str:
    if not views or not views[0].path:
        return f"{ref}\n  no state would run\n"
    one = views[0]
    lines = [str(ref), f"  path:  {' → '.join(step.state for step in one.path)}"]
    if one.waiting is not None:
        said = "fails" if one.waiting.failed else "waits"
        lines.append(f"  {said}: {one.waiting.reason}, {one.waiting.message}")
    elif one.is_ready:
        lines.append("  Ready")
    return "\n".join(lines) + "\n"


def _write(one: Exchange, before: Json | None) -> str:
    """One write: a new object as YAML, a change field by field."""
    verb, answer = _VERBS[one.request.method], one.answer
    if one.status >= 400:
        return f"{verb} {one.path}\n  refused: {answer.get('message')}\n"
    if verb == "delete":
        return f"delete {one.path}\n"
    meta = answer["metadata"]
    where = f"{meta['namespace']}/" if meta.get("namespace") else ""
    if one.path.endswith("/scale"):
        return (
            f"scale {one.path.rsplit('/', 2)[-2]}\n  spec.replicas: {answer['spec']['replicas']}\n"
        )
    part = " status" if one.path.endswith("/status") else ""
    head = f"{verb} {answer['kind']} {where}{meta['name']}{part}"
    if before is None:
        said = _quiet(one.body).items()
        body = {key: value for key, value in said if key not in _SAID and value != {}}
        lines = [f"+ {line}" for line in to_yaml(body).splitlines()]
    else:
        lines = difference(_quiet(before), _quiet(answer)) or [
            "(what the framework notes for itself)"
        ]
    return "\n".join([head, *(f"  {line}" for line in lines)]) + "\n"


def _quiet(obj: Json) -> Json:
    """An object without what the framework or the server adds to every write."""
    meta = {key: value for key, value in obj["metadata"].items() if key not in _NOISE}
    notes = meta.pop("annotations", None) or {}
    kept = {key: value for key, value in notes.items() if not key.startswith((APPLIED, DECLARED))}
    if kept:
        meta["annotations"] = kept
    return {**obj, "metadata": meta, "status": _told_status(obj.get("status") or {})}


def _told_status(status: Json) -> Json:
    """A status in words: each condition by its name."""
    told = {key: value for key, value in status.items() if key not in _FRAMEWORK}
    for condition in status.get("conditions") or ():
        told[str(condition.get("type"))] = f"{condition.get('status')} ({condition.get('reason')})"
    return told


def _is_of(kind: Kind, manifest: Json) -> bool:
    return (manifest.get("apiVersion"), manifest.get("kind")) == (kind.api_version, kind.kind)


def _ref_of(kind: Kind, manifest: Json, namespace: str) -> ObjectRef:
    where = (namespace_of(manifest) or namespace) if kind.namespaced else ""
    return ObjectRef(kind, manifest["metadata"]["name"], where)
