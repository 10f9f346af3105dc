"""The internal form of a definition, in which settings shared by all versions are above them."""

from dataclasses import dataclass, field
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang.text import Struct

# The settings that can be shared: their names in a version, and in the spec.
_SHARED = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}


@dataclass(slots=True)
class Internal:
    """The spec of a definition in internal form."""

    spec: Json
    version: str = ""
    versions: list[Json] = field(default_factory=list)
    shared: Json = field(default_factory=dict)  # the shared settings, by their names in the spec

    @property
    def names(self) -> Json:
        """The names of the resource (``spec.names``)."""
        return self.spec.get("names") or {}

    def has_status(self, version: Json) -> bool:
        """Whether a version has the status subresource."""
        per_version = any(each.get("subresources") is not None for each in self.versions)
        found = version.get("subresources") if per_version else self.shared["subresources"]
        return _is_status_enabled(found)

    def has_any_status(self) -> bool:
        """Whether any version has the status subresource."""
        found = [self.shared["subresources"], *(each.get("subresources") for each in self.versions)]
        return any(map(_is_status_enabled, found))

    def shown_versions(self) -> list[Struct]:
        """Return the versions as Go prints them."""
        return [_shown(version) for version in self.versions]


def _is_status_enabled(subresources: Any) -> bool:
    return bool(subresources) and subresources.get("status") is not None


def internal_form(spec: Json) -> Internal:
    """Convert the spec of a definition to the internal form."""
    versions = [dict(version) for version in spec.get("versions") or ()]
    shared: Json = dict.fromkeys(_SHARED.values())
    if not versions:
        return Internal(spec, shared=shared)
    for name, above in _SHARED.items():
        first = versions[0].get(name) or None
        if all((version.get(name) or None) == first for version in versions):
            # Not `first`: an empty subresources object is not the same as none.
            shared[above] = versions[0].get(name)
            for version in versions:
                version.pop(name, None)
    return Internal(spec, versions[0].get("name") or "", versions, shared)


def _shown(version: Json) -> Struct:
    return Struct(
        Name=version.get("name") or "",
        Served=bool(version.get("served")),
        Storage=bool(version.get("storage")),
        Deprecated=bool(version.get("deprecated")),
        DeprecationWarning=version.get("deprecationWarning"),
        Schema=version.get("schema"),
        Subresources=version.get("subresources"),
        AdditionalPrinterColumns=version.get("additionalPrinterColumns"),
        SelectableFields=version.get("selectableFields"),
    )
