"""The validator of ``benchmarks.webhooks``, for myrmidon: a ConfigMap must have data."""

from myrmidon import Admission, AdmissionRequest, Unstructured, kinds, validates


class ConfigMapRules(Admission[Unstructured], kind=kinds.CONFIG_MAP):
    """Refuses ConfigMaps without data."""

    @validates(on=("create",), object_selector="bench")
    def has_data(self, obj: Unstructured, request: AdmissionRequest[Unstructured]) -> None:
        """Look at one field."""
        if not obj.get("data"):
            request.refuse("data", "must not be empty")
