"""The smallest roles that let controllers do what they declare.

Which act of the runtime needs which verb; nothing else is granted:

====================================================  ================  ===========================
act                                                   verbs             on
====================================================  ================  ===========================
keep the cache of the own kind                        list, watch       the kind
read it live (``ctx.live``, after an unknown end)     get               the kind
put on and release the finalizer                      patch             the kind, with a finalizer
                                                                        or children without owner
write conditions and status                           patch             kind/status; the kind, with
                                                                        ``conditions="annotation"``
what ``Controller.permissions`` adds                  as declared       as declared
create what a watch named (``create_if_not_found``)   create            the kind
set owner references that block deletion              update            kind/finalizers, unless all
                                                                        have ``owner_refs=False``
keep the cache of managed kinds                       list, watch       managed kinds
read them live (``ctx.live``, after an unknown end)   get               managed kinds
``out.apply``                                         create, patch     managed kinds
``out.apply(..., create_only=True)``                  create            managed kinds
``out.apply(..., as_update=True)``                    create, update    managed kinds
``out.delete(kind)``, ``out.delete_all(kind)``        delete            that kind
``out.patch``, ``out.scale``, ``out.release``         patch             managed kinds
``out.scale(kind)``                                   patch             kind/scale
``subresource="status"``                              patch             kind/status of managed kinds
``out.label_self``, ``out.annotate_self``             patch             the kind
``out.delete_self``                                   delete            the kind
pruning, ``recreate``, children without owner         delete            managed kinds
``ctx.get``, ``ctx.list``, ``Watch``                  list, watch       read and watched kinds
``ctx.live``                                          get               read and watched kinds
``ctx.get`` with ``Reads(cached=False)``              get               that kind
follow namespaces (``namespace_selector``)            list, watch       namespaces
record events, count repeated ones                    create, patch     events
find the event of an earlier process of ours          get               events
install definitions (``--install-crds``)              create            all definitions
update them                                           get, patch        those of the program
migrate stored objects (``--migrate-storage``)        list, patch       kinds with several versions
record the progress and the end of that               get, patch        their definitions; /status
lead                                                  create            leases
renew and release the lease                           get, update       the one lease
share the objects among replicas (``--shards``)       all but patch     leases of the namespace
====================================================  ================  ===========================

Which of these acts there are is declared, or read in the code of the controller (``usage``).

Rights are as wide as what they are for: a controller that is limited to namespaces gets a Role in
each of them, and a ClusterRole only for kinds that live in no namespace.  ``namespaces`` of a
``Manages``, a ``Reads`` or a ``Watch`` takes precedence for its kind.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from myrmidon.api.objects import kinds
from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.api.typed.object_types import kind_of
from myrmidon.fsm.controller import Controller
from myrmidon.fsm.status.status_home import conditions_in_of
from myrmidon.generate.manifests.usage import Usage, usage_of

_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete")
_CACHE = ("list", "watch")
_MIGRATING = ("list", "patch")
_SCALED = (
    kinds.DEPLOYMENT, kinds.REPLICA_SET, kinds.REPLICATION_CONTROLLER, kinds.STATEFUL_SET,
)  # fmt: skip
_WITHOUT_STATUS = (
    kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING, kinds.CONFIG_MAP, kinds.CONTROLLER_REVISION,
    kinds.ENDPOINTS, kinds.ENDPOINT_SLICE, kinds.EVENT, kinds.INGRESS_CLASS, kinds.LEASE,
    kinds.LIMIT_RANGE, kinds.MUTATING_WEBHOOK_CONFIGURATION, kinds.NETWORK_POLICY,
    kinds.POD_TEMPLATE, kinds.PRIORITY_CLASS, kinds.ROLE, kinds.ROLE_BINDING, kinds.SECRET,
    kinds.SERVICE_ACCOUNT, kinds.STORAGE_CLASS, kinds.VALIDATING_WEBHOOK_CONFIGURATION,
)  # fmt: skip
_RBAC = kinds.ROLE.api_version
CLUSTER = ""
"""The scope of rights in all namespaces and on cluster-scoped kinds."""


class Target(NamedTuple):
    """What a right is about: ``("apps", "deployments")``, ``("demo.example.com", "webapps/status")``."""

    group: str
    resource: str
    names: tuple[str, ...] = ()  # only objects of these names; empty for all


@dataclass(slots=True)
class Rights:
    """Who may do what where: scope (a namespace or ``CLUSTER``) to target to verbs."""

    granted: dict[str, dict[Target, set[str]]] = field(default_factory=dict)

    def grant(
        self,
        kind: Kind,
        verbs: Iterable[str],
        namespaces: Sequence[str],
        subresource: str = "",
        names: tuple[str, ...] = (),
    ) -> None:
        """Allow verbs on a kind: in these namespaces, or everywhere."""
        resource = f"{kind.plural}/{subresource}" if subresource else kind.plural
        for scope in namespaces if kind.namespaced and namespaces else (CLUSTER,):
            targets = self.granted.setdefault(scope, {})
            targets.setdefault(Target(kind.group, resource, names), set()).update(verbs)

    def rules(self, scope: str) -> list[Json]:
        """The rules of one scope: targets of one group and of the same verbs share a rule."""
        everywhere = self.granted.get(CLUSTER, {})
        together: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
        for target, verbs in sorted(self.granted.get(scope, {}).items()):
            left = verbs if scope == CLUSTER else verbs - everywhere.get(target, set())
            if left:
                ordered = (*(verb for verb in _VERBS if verb in left), *sorted(left - set(_VERBS)))
                key = (target.group, ordered, target.names)
                together.setdefault(key, []).append(target.resource)
        return [
            {
                "apiGroups": [group],
                "resources": resources,
                **({"resourceNames": list(names)} if names else {}),
                "verbs": list(verbs),
            }
            for (group, verbs, names), resources in together.items()
        ]

    @property
    def namespaces(self) -> list[str]:
        """The namespaces in which there are rights of their own."""
        return sorted(scope for scope in self.granted if scope != CLUSTER and self.rules(scope))


def remote_rights_of(controllers: Iterable[type[Controller[Any]]], cluster: str) -> Rights:
    """All that these controllers need on a remote cluster.

    The controller itself deletes its children there, so it may always delete them.
    """
    rights = Rights()
    for controller in controllers:
        _grant_kinds(rights, controller, usage_of(controller), cluster)
        for watch in controller.watches:
            watched = kind_of(watch.kind)
            if watched is not None and watch.remote == cluster:
                rights.grant(watched, _CACHE, watch.namespaces)
    return rights


def rights_of(controllers: Iterable[type[Controller[Any]]]) -> Rights:
    """All that these controllers need on their own cluster, the lease aside."""
    rights = Rights()
    for controller in controllers:
        usage = usage_of(controller)
        _grant_parent(rights, controller, usage)
        limits = controller.options.namespaces
        _grant_kinds(rights, controller, usage)
        if controller.options.namespace_selector:
            rights.grant(kinds.NAMESPACE, _CACHE, ())
        events_in = limits if controller.kind().namespaced else ()
        rights.grant(kinds.EVENT, ("get", "create", "patch"), events_in)
    return rights


def _grant_kinds(
    rights: Rights, controller: type[Controller[Any]], usage: Usage, cluster: str = ""
) -> None:
    """Grant what a controller does with the kinds that it declares on one cluster."""
    limits, shapes = controller.options.namespaces, controller.shapes
    for kind in controller.managed_kinds:
        if kind.cluster != cluster:
            continue
        namespaces = shapes[kind].namespaces or limits
        verbs = _managing(kind, usage)
        rights.grant(kind, (*verbs, "delete") if cluster else verbs, namespaces)
        named = (*usage.subresources_of(kind), *usage.subresources_of(kind.at("")))
        for subresource in filter(partial(_may_have, kind.at("")), named):
            rights.grant(kind, ("patch",), namespaces, subresource)
    read = ("get", *_CACHE) if usage.reads_live else _CACHE
    for kind in controller.read_kinds:
        if kind.cluster == cluster:
            verbs = list(read if shapes[kind].cached else ("get",))
            rights.grant(kind, verbs, shapes[kind].namespaces or limits)
    for permission in controller.permissions:
        if permission.kind.cluster == cluster:
            rights.grant(
                permission.kind,
                permission.verbs,
                limits,
                permission.subresource,
                permission.names,
            )


def _managing(kind: Kind, usage: Usage) -> list[str]:
    """The verbs on a managed kind.  It is read by name whenever a write got no clear answer."""
    verbs = ["get", *_CACHE]
    verbs += ["create"] if usage.creates else []
    verbs += ["update"] if usage.updates else []
    verbs += ["patch"] if usage.patches else []
    verbs += ["delete"] if usage.deletes(kind) else []
    return verbs


def _may_have(kind: Kind, subresource: str) -> bool:
    """Whether the kind has the subresource, as far as is known: a custom kind may have any."""
    if subresource == "scale":
        return kind in _SCALED or kind not in kinds.ALL
    return kind not in _WITHOUT_STATUS


def _grant_parent(rights: Rights, controller: type[Controller[Any]], usage: Usage) -> None:
    kind, limits = controller.kind(), controller.options.namespaces
    rights.grant(kind, ("get", *_CACHE), limits)
    remote = any(kind.cluster for kind in controller.managed_kinds)
    tracks = remote or (bool(controller.managed_kinds) and usage.tracks)
    orphans = controller.options.policy == "orphan"
    if controller.graph.finalizer is not None or tracks or orphans or usage.labels_self:
        rights.grant(kind, ("patch",), limits)
    if controller.options.create_if_not_found:
        rights.grant(kind, ("create",), limits)
    if usage.deletes_self:
        rights.grant(kind, ("delete",), limits)
    where = conditions_in_of(controller)
    definition = getattr(controller.resource, "DEFINITION", None)
    if where == "annotation" or (definition is not None and not definition.status_subresource):
        rights.grant(kind, ("patch",), limits)
    elif where == "status":
        rights.grant(kind, ("patch",), limits, "status")
    if usage.owns and any(not kind.cluster for kind in controller.managed_kinds):
        rights.grant(kind, ("update",), limits, "finalizers")


def roles(controllers: Iterable[type[Controller[Any]]], name: str, cluster: str = "") -> list[Json]:
    """The ClusterRole, if one is needed, and a Role for each namespace; for a remote cluster, too."""
    rights = remote_rights_of(controllers, cluster) if cluster else rights_of(controllers)
    made: list[Json] = []
    rules = rights.rules(CLUSTER)
    if rules:
        made.append(role_of("ClusterRole", name, "", rules))
    made += [role_of("Role", name, scope, rights.rules(scope)) for scope in rights.namespaces]
    return made


def lease_role(name: str, namespace: str, lease: str, *, shards: bool = False) -> Json:
    """The Role that lets replicas agree who leads, or with ``shards`` who owns which objects.

    A create cannot be limited to a name, and the Leases of members have names that are not known.
    """
    group = kinds.LEASE.group
    if shards:
        verbs = ["get", "list", "watch", "create", "update", "delete"]
        events = ["get", "create", "patch"]
        return role_of(
            "Role",
            f"{name}-leader-election",
            namespace,
            [
                {"apiGroups": [group], "resources": ["leases"], "verbs": verbs},
                {"apiGroups": [""], "resources": ["events"], "verbs": events},
            ],
        )
    return role_of(
        "Role",
        f"{name}-leader-election",
        namespace,
        [
            {"apiGroups": [group], "resources": ["leases"], "verbs": ["create"]},
            {
                "apiGroups": [group],
                "resources": ["leases"],
                "resourceNames": [lease],
                "verbs": ["get", "update"],
            },
        ],
    )


def metrics_roles(name: str) -> tuple[Json, Json]:
    """The ClusterRole that lets the program check who scrapes it, and the one for those who scrape."""
    reviews = [
        {
            "apiGroups": ["authentication.k8s.io"],
            "resources": ["tokenreviews"],
            "verbs": ["create"],
        },
        {
            "apiGroups": ["authorization.k8s.io"],
            "resources": ["subjectaccessreviews"],
            "verbs": ["create"],
        },
    ]
    scrapes = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    return (
        role_of("ClusterRole", f"{name}-metrics-auth", "", reviews),
        role_of("ClusterRole", f"{name}-metrics-reader", "", scrapes),
    )


def install_role(name: str, definitions: Sequence[str]) -> Json:
    """The ClusterRole that lets the program install its definitions.  A create has no name yet."""
    group, resource = (
        kinds.CUSTOM_RESOURCE_DEFINITION.group,
        kinds.CUSTOM_RESOURCE_DEFINITION.plural,
    )
    on: Json = {"apiGroups": [group], "resources": [resource]}
    named = {**on, "resourceNames": list(definitions), "verbs": ["get", "patch"]}
    return role_of("ClusterRole", f"{name}-install-crds", "", [{**on, "verbs": ["create"]}, named])


def migration_role(name: str, definitions: Iterable[Json]) -> Json | None:
    """The ClusterRole that lets the program migrate stored objects; None if there can be none.

    Only objects of a kind with several versions can be stored in an older one.
    """
    rights, crd = Rights(), kinds.CUSTOM_RESOURCE_DEFINITION
    names: list[str] = []
    for definition in definitions:
        spec = definition["spec"]
        if len(spec["versions"]) > 1:
            names.append(definition["metadata"]["name"])
            said = spec["names"]
            version = next(each["name"] for each in spec["versions"] if each["storage"])
            rights.grant(Kind(spec["group"], version, said["kind"], said["plural"]), _MIGRATING, ())
    if not names:
        return None
    rights.grant(crd, ("get", "patch"), (), names=tuple(names))
    rights.grant(crd, ("patch",), (), "status", tuple(names))
    return role_of("ClusterRole", f"{name}-migrate-storage", "", rights.rules(CLUSTER))


def binding(role: Json, account: str, namespace: str) -> Json:
    """The binding that gives a role to a ServiceAccount."""
    kind = role["kind"]
    return {
        "apiVersion": _RBAC,
        "kind": f"{kind}Binding",
        "metadata": dict(role["metadata"]),
        "roleRef": {
            "apiGroup": kinds.ROLE.group,
            "kind": kind,
            "name": role["metadata"]["name"],
        },
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }


def role_of(kind: str, name: str, namespace: str, rules: list[Json]) -> Json:
    """Return a Role or ClusterRole."""
    metadata: Json = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": _RBAC, "kind": kind, "metadata": metadata, "rules": rules}
