"""Tables of role bindings, CertificateSigningRequests and Leases."""

from datetime import datetime
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.tables import cells
from myrmidon.apiserver.resources.tables import human_duration


def _binding(binding: Json, now: datetime) -> list[Any]:
    role = binding["roleRef"]
    people: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in binding.get("subjects", ()):
        name = subject.get("name", "")
        if subject.get("kind") == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        people.setdefault(subject.get("kind", ""), []).append(name)
    return [
        cells.name(binding),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        cells.age(binding, now),
        *(", ".join(people[kind]) for kind in ("User", "Group", "ServiceAccount")),
    ]


def _signing_request(request: Json, now: datetime) -> list[Any]:
    spec, status = request["spec"], request.get("status", {})
    types = {condition.get("type") for condition in status.get("conditions", ())}
    states = ["Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"]
    states += ["Failed"] if "Failed" in types else []
    states += ["Issued"] if status.get("certificate") else []
    seconds = spec.get("expirationSeconds")
    return [
        cells.name(request),
        cells.age(request, now),
        spec.get("signerName") or cells.NONE,
        spec.get("username", ""),
        human_duration(seconds) if seconds is not None else cells.NONE,
        ",".join(states),
    ]


def _lease(lease: Json, now: datetime) -> list[Any]:
    holder = lease["spec"].get("holderIdentity", "")
    return [cells.name(lease), holder, cells.age(lease, now)]


PRINTERS = {
    "RoleBinding": _binding,
    "ClusterRoleBinding": _binding,
    "CertificateSigningRequest": _signing_request,
    "Lease": _lease,
}
