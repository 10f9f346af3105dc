"""Prepares namespaces for teams: a controller of a built-in kind.

A namespace with the label ``tenants.example.com/team`` gets a ResourceQuota, a RoleBinding for the
group of the team and a NetworkPolicy; the label ``tenants.example.com/size`` says how large the quota
is.  When the label is removed, they are deleted.
"""

from kubernetes_asyncio.client import (
    CoreV1Api,
    RbacV1Subject,
    V1Namespace,
    V1NetworkPolicy,
    V1NetworkPolicyIngressRule,
    V1NetworkPolicyPeer,
    V1NetworkPolicySpec,
    V1ObjectMeta,
    V1Pod,
    V1ResourceQuota,
    V1ResourceQuotaSpec,
    V1RoleBinding,
    V1RoleRef,
)

from myrmidon import (
    Context,
    Controller,
    ControllerOptions,
    Done,
    Failed,
    OutputSet,
    Permission,
    Result,
    kinds,
    state,
)

TEAM = "tenants.example.com/team"
SIZE = "tenants.example.com/size"
QUOTAS = {
    "small": {"pods": "10", "requests.cpu": "2", "requests.memory": "4Gi"},
    "large": {"pods": "100", "requests.cpu": "20", "requests.memory": "40Gi"},
}


class Tenants(Controller[V1Namespace]):
    """Gives each team a quota, a RoleBinding and a NetworkPolicy in its namespaces."""

    manages = (V1ResourceQuota, V1RoleBinding, V1NetworkPolicy)
    options = ControllerOptions(prune=True, conditions="annotation")
    name = "tenants"
    permissions = (
        Permission(kinds.CLUSTER_ROLE, "bind", names=("edit",)),  # to give it to others
        Permission(V1Pod, "list"),  # for ctx.api
    )

    @state(initial=True, condition="Assigned", then=("limited", "unassigned"))
    def assigned(self, space: V1Namespace, out: OutputSet) -> Result:
        """The labels say whose namespace it is and how large."""
        labels = space.metadata.labels or {}
        if TEAM not in labels:
            return Done(goto="unassigned")
        if labels.get(SIZE, "small") not in QUOTAS:
            sizes = ", ".join(QUOTAS)
            return Failed("UnknownSize", f"{SIZE} must be one of {sizes}", retry=False)
        return Done(goto="limited")

    @state(condition="Unassigned")
    def unassigned(self, space: V1Namespace, out: OutputSet) -> Result:
        """It belongs to no team; pruning deletes what it was given before."""
        return Done()

    @state(condition="Limited", then="open_to_team")
    async def limited(self, space: V1Namespace, out: OutputSet, ctx: Context) -> Result:
        """The quota is in place."""
        hard = QUOTAS[space.metadata.labels.get(SIZE, "small")]
        pods = await CoreV1Api(ctx.api).list_namespaced_pod(space.metadata.name, limit=1)
        if pods.items:
            ctx.log.debug("the quota applies to new pods only", namespace=space.metadata.name)
        out.apply(V1ResourceQuota(metadata=of(space), spec=V1ResourceQuotaSpec(hard=hard)))
        return Done()

    @state(condition="OpenToTeam", then="isolated")
    def open_to_team(self, space: V1Namespace, out: OutputSet) -> Result:
        """The team may change what is in it."""
        group = RbacV1Subject(
            kind="Group",
            name=space.metadata.labels[TEAM],
            api_group="rbac.authorization.k8s.io",
        )
        role = V1RoleRef(kind="ClusterRole", name="edit", api_group="rbac.authorization.k8s.io")
        out.apply(V1RoleBinding(metadata=of(space), role_ref=role, subjects=[group]), recreate=True)
        return Done()

    @state(condition="Isolated")
    def isolated(self, space: V1Namespace, out: OutputSet) -> Result:
        """Only pods of the same namespace can connect to its pods."""
        peer = V1NetworkPolicyPeer(pod_selector={})
        spec = V1NetworkPolicySpec(
            pod_selector={}, ingress=[V1NetworkPolicyIngressRule(_from=[peer])]
        )
        out.apply(V1NetworkPolicy(metadata=of(space), spec=spec))
        return Done()


def of(space: V1Namespace) -> V1ObjectMeta:
    """Return the metadata of a child, which lives in the namespace that owns it."""
    return V1ObjectMeta(name="tenant", namespace=space.metadata.name)
