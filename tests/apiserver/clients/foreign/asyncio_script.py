# mypy: ignore-errors
"""A program for kubernetes-asyncio, in the manner of its examples; it knows nothing of myrmidon."""

import asyncio

from kubernetes_asyncio import client, config, dynamic, watch
from kubernetes_asyncio.client import ApiException


async def main():
    await config.load_kube_config()
    async with client.ApiClient() as api:
        v1, apps, custom = (
            client.CoreV1Api(api),
            client.AppsV1Api(api),
            client.CustomObjectsApi(api),
        )
        print("version", (await client.VersionApi(api).get_code()).git_version)
        await v1.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name="aio")))

        made = await v1.create_namespaced_config_map(
            "aio", client.V1ConfigMap(metadata=client.V1ObjectMeta(name="a"), data={"k": "v"})
        )
        print("created", made.metadata.name, made.data, bool(made.metadata.creation_timestamp))

        async def follow(version):
            events = []
            async with watch.Watch().stream(
                v1.list_namespaced_config_map, "aio", resource_version=version, timeout_seconds=20
            ) as stream:
                async for event in stream:
                    events.append((event["type"], event["object"].metadata.name))
                    if event["type"] == "DELETED":
                        break
            return events

        listed = await v1.list_namespaced_config_map("aio", limit=1)
        follower = asyncio.create_task(follow(listed.metadata.resource_version))
        made.data["k"] = "w"
        replaced = await v1.replace_namespaced_config_map("a", "aio", made)
        print("replaced", replaced.data)
        try:
            await v1.replace_namespaced_config_map("a", "aio", made)
        except ApiException as error:
            print("stale", error.status, error.reason)
        await v1.patch_namespaced_config_map("a", "aio", {"data": {"x": "y"}})
        await v1.delete_namespaced_config_map("a", "aio")
        print("events", await follower)

        body = {
            "apiVersion": "kr8s.example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "w"},
            "spec": {"size": 1},
        }
        where = ("kr8s.example.com", "v1", "aio", "widgets")
        await custom.create_namespaced_custom_object(*where, body)
        await custom.patch_namespaced_custom_object(
            *where, "w", {"spec": {"size": 2}}, _content_type="application/merge-patch+json"
        )
        got = await custom.get_namespaced_custom_object(*where, "w")
        print("custom", got["spec"], got["metadata"]["generation"])

        container = client.V1Container(name="c", image="nginx")
        template = client.V1PodTemplateSpec(
            metadata=client.V1ObjectMeta(labels={"app": "web"}),
            spec=client.V1PodSpec(containers=[container]),
        )
        spec = client.V1DeploymentSpec(
            replicas=2,
            selector=client.V1LabelSelector(match_labels={"app": "web"}),
            template=template,
        )
        await apps.create_namespaced_deployment(
            "aio", client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)
        )
        await apps.patch_namespaced_deployment_scale("web", "aio", {"spec": {"replicas": 4}})
        scale = await apps.read_namespaced_deployment_scale("web", "aio")
        print("scale", scale.spec.replicas, scale.status.selector)

        try:
            await v1.read_namespaced_secret("nope", "aio")
        except ApiException as error:
            print("missing", error.status)

        widgets = await (await dynamic.DynamicClient(api)).resources.get(
            api_version="kr8s.example.com/v1", kind="Widget"
        )
        found = await widgets.get(namespace="aio")
        print("dynamic", [item.metadata.name for item in found.items])
        applied = await widgets.server_side_apply(
            namespace="aio",
            name="w",
            body={**body, "spec": {"size": 9}},
            field_manager="me",
            force_conflicts=True,
        )
        print("applied", applied.spec.size)
        lease = client.V1Lease(
            metadata=client.V1ObjectMeta(name="l"), spec=client.V1LeaseSpec(holder_identity="me")
        )
        lease = await client.CoordinationV1Api(api).create_namespaced_lease("aio", lease)
        print("lease", lease.spec.holder_identity)
        reviews = client.AuthorizationV1Api(api)
        review = await reviews.create_self_subject_access_review(
            {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
        )
        print("allowed", review.status.allowed)
        await v1.delete_namespace("aio")


asyncio.run(main())
