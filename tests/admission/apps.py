"""The resource, the rules and the reviews that the tests of admission use."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from myrmidon.api import Json, Model, Resource, Status, Unstructured
from myrmidon.api.objects import kinds
from myrmidon.webhooks.admission import Admission, AdmissionRequest, defaults, validates


class AppSpec(Model):
    """What a user asks for."""

    image: str = Field(min_length=1)
    replicas: int | None = None
    hosts: list[str] = Field(default_factory=list)


class App(Resource[AppSpec, Status], group="demo.example.com", version="v1"):
    """An application with validators and defaults."""

    @validates()
    def image_is_pinned(self, request: AdmissionRequest["App"]) -> None:
        """The image names a version."""
        if self.spec.image.endswith(":latest"):
            request.refuse("spec.image", "must name a version")

    @validates(on=("update",))
    def hosts_stay(self, request: AdmissionRequest["App"]) -> None:
        """A host is never taken away."""
        old = request.old
        assert old is not None
        for index, host in enumerate(old.spec.hosts):
            if host not in self.spec.hosts:
                request.refuse(f"spec.hosts[{index}]", f"{host} must stay")

    @validates(on=("delete",))
    def is_unused(self) -> None:
        """An application with hosts is not deleted."""
        if self.spec.hosts:
            raise ValueError("it still has hosts")

    @defaults
    def replicas_are_set(self) -> None:
        """Three replicas, unless the user says otherwise."""
        if self.spec.replicas is None:
            self.spec.replicas = 3


class ConfigMapRules(Admission[Unstructured], kind=kinds.CONFIG_MAP):
    """Rules for a kind of another project."""

    @validates(on=("create",))
    async def has_data(self, obj: Unstructured) -> None:
        """Each ConfigMap has data."""
        assert obj.get("data"), "data is empty"

    @defaults
    def owner(self, obj: Unstructured) -> Json:
        """Label it."""
        del obj
        return {"metadata": {"labels": {"owner": "nobody"}}}


def app(spec: Json | None = None, **metadata: Any) -> Json:
    """Return an App as JSON."""
    return {
        "apiVersion": "demo.example.com/v1",
        "kind": "App",
        "metadata": {"name": "shop", "namespace": "default", **metadata},
        "spec": {"image": "shop:1"} if spec is None else spec,
    }


def review(
    operation: str,
    obj: Json | None = None,
    old: Json | None = None,
    *,
    name: str = "shop",
    groups: Sequence[str] = (),
    dry_run: bool = False,
) -> Json:
    """Return an AdmissionReview as the API server sends it."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "a-b-c",
            "operation": operation,
            "name": name,
            "namespace": "default",
            "userInfo": {
                "username": "jane",
                "uid": "7",
                "groups": list(groups),
                "extra": {"scopes": ["a"]},
            },
            "object": obj,
            "oldObject": old,
            "dryRun": dry_run,
        },
    }
