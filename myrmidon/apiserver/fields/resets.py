"""The fields that the server resets in a write, by kind and subresource.

An update of ``status`` through the main path, for example, is dropped.  The server resets these
fields only after it computed the owners, so a change there must not make the writer an owner.
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
    """Return the fields that a write of a built-in kind cannot change."""
    if subresource == "status":
        return _THROUGH_STATUS.get((kind.group, kind.kind), _SPEC)
    return _STATUS if has_status and not subresource else NO_RESET


def custom_reset_fields(subresource: str, *, has_status: bool) -> ResetFields:
    """Return the fields that a write of a custom resource cannot change."""
    if subresource == "status":
        return _CUSTOM_STATUS
    return _STATUS if has_status and not subresource else NO_RESET
