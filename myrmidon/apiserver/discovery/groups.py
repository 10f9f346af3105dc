"""Discovery documents: the API groups, versions and resources that the server has.

There are two forms.  The older one has a document for each group and version; the newer one,
"aggregated" discovery, has everything in two documents.  The entries of built-in groups were
recorded from a real server; the groups of custom resources follow them.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from myrmidon.api.objects.accessors import Json
from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.catalog import files

AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

# In the order of the real server, which sorts the verbs of built-in resources only.
_ALL_VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
_SUBRESOURCE_VERBS = ["get", "patch", "update"]


class CustomType(Protocol):
    """One version of a custom resource, as the registry has it."""

    @property
    def kind(self) -> Kind:
        """Its group, version, kind, plural and scope."""
        ...

    @property
    def singular(self) -> str:
        """The singular name."""
        ...

    @property
    def short_names(self) -> Sequence[str]:
        """The short names that kubectl accepts."""
        ...

    @property
    def categories(self) -> Sequence[str]:
        """The categories that include it, such as ``all``."""
        ...

    @property
    def status(self) -> bool:
        """Whether it has a status subresource."""
        ...

    @property
    def scale(self) -> Any:
        """The paths of its scale subresource, or None."""
        ...

    @property
    def storage_version(self) -> str:
        """The version in which objects are stored."""
        ...


def api_versions(server_address: str) -> Json:
    """Return the document of ``/api``."""
    return {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}
        ],
    }


def group_list(custom: Iterable[CustomType]) -> Json:
    """Return the document of ``/apis``."""
    groups = [
        _group(group["name"], [version["version"] for version in group["versions"]])
        for group in files.served()["groups"]
        if group["name"]
    ]
    groups += [_group(name, versions) for name, versions in custom_versions(custom).items()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(name: str, custom: Iterable[CustomType]) -> Json | None:
    """Return the document of ``/apis/<group>``, None if the group is not served."""
    for found in group_list(custom)["groups"]:
        if found["name"] == name:
            return {"kind": "APIGroup", "apiVersion": "v1", **found}
    return None


def resource_list(group_name: str, version: str, custom: Iterable[CustomType]) -> Json | None:
    """Return ``/apis/<group>/<version>`` or ``/api/v1``; None if the version is not served."""
    entries, found = _builtin_resources(group_name, version), []
    if entries is None:
        wanted = (group_name, version)
        found = [served for served in custom if served.kind[:2] == wanted]
        if not found:
            return None
        entries = [entry for served in found for entry in _custom_resources(served)]
    # For the core group, the real server leaves out apiVersion.
    head = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group_name else {})
    return head | {
        "groupVersion": f"{group_name}/{version}" if group_name else version,
        "resources": sorted(entries, key=_resource_name if found else _whole_name),
    }


def _whole_name(entry: Json) -> str:
    return str(entry["name"])


def _resource_name(entry: Json) -> str:
    """Return the sort key of an entry: subresources follow their resource, in insertion order."""
    return str(entry["name"]).partition("/")[0]


def aggregated(*, core: bool, custom: Iterable[CustomType]) -> Json:
    """Return the aggregated document of ``/api`` (``core``) or ``/apis``."""
    items = [
        {
            "metadata": {"name": group["name"]} if group["name"] else {},
            "versions": [_aggregated_version(version) for version in group["versions"]],
        }
        for group in files.served()["groups"]
        if (not group["name"]) == core
    ]
    if not core:
        items += _aggregated_custom(list(custom))
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def custom_versions(custom: Iterable[CustomType]) -> dict[str, list[str]]:
    """Return the groups of custom resources, each with its versions in order of preference."""
    versions: dict[str, set[str]] = {}
    for served in custom:
        versions.setdefault(served.kind.group, set()).add(served.kind.version)
    return {name: sorted(versions[name], key=version_rank) for name in sorted(versions)}


_VERSION = re.compile(r"^v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?$")
_STAGES = {None: 0, "beta": 1, "alpha": 2}


def version_rank(version: str) -> tuple[Any, ...]:
    """Return the sort key of a version: v2, v1, v10beta3, v3beta1, v1alpha1, foo1."""
    match = _VERSION.match(version)
    if match is None:
        return (3, 0, 0, version)
    major, stage, minor = match.groups()
    return (_STAGES[stage], -int(major), -int(minor or 0), "")


def storage_version_hash(kind: Kind, version: str) -> str:
    """Return the hash by which clients notice that the storage version has changed."""
    digest = hashlib.sha256(f"{kind.group}/{version}/{kind.kind}".encode()).digest()
    return b64encode(digest[:8]).decode()


def _group(name: str, versions: list[str]) -> Json:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _builtin_resources(group_name: str, version: str) -> list[Json] | None:
    for found in files.served()["groups"]:
        for listed in found["versions"] if found["name"] == group_name else ():
            if listed["version"] == version:
                return [
                    entry for resource in listed["resources"] for entry in _legacy_entries(resource)
                ]
    return None


def _legacy_entries(resource: Json) -> list[Json]:
    entry = {
        "name": resource["resource"],
        "singularName": resource["singularResource"],
        "namespaced": resource["scope"] == "Namespaced",
        "kind": resource["responseKind"]["kind"],
        "verbs": resource["verbs"],
    }
    for field in ("shortNames", "categories"):
        if field in resource:
            entry[field] = resource[field]
    if resource["hash"]:
        entry["storageVersionHash"] = resource["hash"]
    below = [_legacy_subresource(resource, each) for each in resource.get("subresources", ())]
    return [entry, *below]


def _legacy_subresource(resource: Json, subresource: Json) -> Json:
    response = subresource["responseKind"]
    elsewhere = {
        key: response[key] for key in ("group", "version") if response["group"] and response[key]
    }
    return {
        "name": f"{resource['resource']}/{subresource['subresource']}",
        "singularName": "",
        "namespaced": resource["scope"] == "Namespaced",
        **elsewhere,
        "kind": response["kind"],
        "verbs": subresource["verbs"],
    }


def _custom_resources(served: CustomType) -> list[Json]:
    kind = served.kind
    entry: Json = {
        "name": kind.plural,
        "singularName": served.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _ALL_VERBS,
        "storageVersionHash": storage_version_hash(kind, served.storage_version or kind.version),
    }
    if served.short_names:
        entry["shortNames"] = list(served.short_names)
    if served.categories:
        entry["categories"] = list(served.categories)
    below: Json = {"singularName": "", "namespaced": kind.namespaced, "verbs": _SUBRESOURCE_VERBS}
    entries = [entry]
    if served.status:
        entries.append({"name": f"{kind.plural}/status", "kind": kind.kind, **below})
    if served.scale is not None:
        name = f"{kind.plural}/scale"
        entries.append(
            {"name": name, "group": "autoscaling", "version": "v1", "kind": "Scale", **below}
        )
    return entries


def _aggregated_version(version: Json) -> Json:
    resources = [
        {key: value for key, value in resource.items() if key not in ("hash", "columns")}
        for resource in version["resources"]
    ]
    return {"version": version["version"], "resources": resources, "freshness": "Current"}


def _aggregated_custom(custom: list[CustomType]) -> list[Json]:
    return [
        {
            "metadata": {"name": name},
            "versions": [
                {
                    "version": version,
                    "resources": sorted(
                        (
                            _aggregated_resource(served)
                            for served in custom
                            if served.kind[:2] == (name, version)
                        ),
                        key=lambda resource: str(resource["resource"]),
                    ),
                    "freshness": "Current",
                }
                for version in versions
            ],
        }
        for name, versions in custom_versions(custom).items()
    ]


def _aggregated_resource(served: CustomType) -> Json:
    kind = served.kind
    response = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    resource: Json = {
        "resource": kind.plural,
        "responseKind": response,
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": served.singular,
        "verbs": _ALL_VERBS,
    }
    if served.short_names:
        resource["shortNames"] = list(served.short_names)
    if served.categories:
        resource["categories"] = list(served.categories)
    below = []
    if served.status:
        below.append(
            {"subresource": "status", "responseKind": response, "verbs": _SUBRESOURCE_VERBS}
        )
    if served.scale is not None:
        scale = {"group": "autoscaling", "version": "v1", "kind": "Scale"}
        below.append({"subresource": "scale", "responseKind": scale, "verbs": _SUBRESOURCE_VERBS})
    if below:
        resource["subresources"] = below
    return resource
