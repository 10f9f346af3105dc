"""Which fields a write does not decide, by kind and subresource.

The server resets them after the owners are worked out, so a change there must not make the writer
their owner.
"""

from myrmidon.api.objects.refs import Kind
from myrmidon.apiserver.fields.versions import NO_RESET, ResetFields, keeping, resetting

_STATUS = resetting("status")
_SPEC = resetting("spec")
_ALL_BUT_STATUS = resetting("spec", "metadata")
_CUSTOM_STATUS = keeping("status")

_THROUGH_STATUS: dict[tuple[str, str], ResetFields] = {
    ("", "Pod"): resetting("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
    ("apps", "Deployment"): resetting("spec", "metadata.labels"),
    ("apiregistration.k8s.io", "APIService"): _ALL_BUT_STATUS,
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): _ALL_BUT_STATUS,
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): _ALL_BUT_STATUS,
    ("networking.k8s.io", "ServiceCIDR"): _ALL_BUT_STATUS,
    ("resource.k8s.io", "ResourceClaim"): _ALL_BUT_STATUS,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): _ALL_BUT_STATUS,
    ("storage.k8s.io", "VolumeAttachment"): _ALL_BUT_STATUS,
}


def builtin_reset_fields(kind: Kind, subresource: str, *, has_status: bool) -> ResetFields:
    """What a write of a built-in kind through a subresource, or the main path, does not decide."""
    if subresource == "status":
        return _THROUGH_STATUS.get((kind.group, kind.kind), _SPEC)
    return _STATUS if has_status and not subresource else NO_RESET


def custom_reset_fields(subresource: str, *, has_status: bool) -> ResetFields:
    """The same for a custom resource: its status is written through its own path, and only there."""
    if subresource == "status":
        return _CUSTOM_STATUS
    return _STATUS if has_status and not subresource else NO_RESET
