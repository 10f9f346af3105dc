"""Validation of a whole definition: name, spec, immutable fields, stored versions and approval."""

from typing import Any
from urllib.parse import urlsplit

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.refusals import causes, names
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.schema import formats
from myrmidon.apiserver.schema.definitions.internal import Internal, internal_form
from myrmidon.apiserver.schema.definitions.spec import check_spec

_APPROVAL = "api-approved.kubernetes.io"
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"
_IMMUTABLE = "field is immutable"


def check_definition(definition: Json, old: Json | None = None) -> list[StatusCause]:
    """Return the errors of a definition that is created, or updated from ``old``.

    The defaults must have been filled in.  Of the metadata only the name is validated here, because
    the rules for the rest are the same for all kinds.
    """
    form = internal_form(definition.get("spec") or {})
    found = [] if old is not None else _check_name(definition, form)
    found += check_spec(form)
    if old is not None:
        found += _check_unchanged(definition, old)
    found += _check_stored_versions(_stored_versions(definition, form, old), form)
    found += _check_approval(definition, old)
    return found + _check_preserving(definition, old)


def _check_name(definition: Json, form: Internal) -> list[StatusCause]:
    name = (definition.get("metadata") or {}).get("name") or ""
    if not name:
        return []
    broken = names.subdomain_problems(name)
    if name != f"{form.names.get('plural') or ''}.{form.spec.get('group') or ''}":
        broken.append('must be spec.names.plural+"."+spec.group')
    return [causes.invalid("metadata.name", name, text) for text in broken]


def _check_unchanged(definition: Json, old: Json) -> list[StatusCause]:
    new_spec, old_spec = definition.get("spec") or {}, old.get("spec") or {}
    new_names, old_names = new_spec.get("names") or {}, old_spec.get("names") or {}
    conditions = (old.get("status") or {}).get("conditions") or ()
    established = any(
        each.get("type") == "Established" and each.get("status") == "True" for each in conditions
    )
    pairs: list[tuple[str, Any, Any]] = []
    if established:
        pairs.append(("spec.scope", new_spec.get("scope"), old_spec.get("scope")))
        pairs.append(("spec.names.kind", new_names.get("kind"), old_names.get("kind")))
    pairs.append(("spec.group", new_spec.get("group"), old_spec.get("group")))
    pairs.append(("spec.names.plural", new_names.get("plural"), old_names.get("plural")))
    return [
        causes.invalid(path, new or "", _IMMUTABLE)
        for path, new, before in pairs
        if (new or "") != (before or "")
    ]


def _stored_versions(definition: Json, form: Internal, old: Json | None) -> list[str]:
    """Return status.storedVersions; for a new definition, its storage version."""
    if old is not None:
        return list((definition.get("status") or {}).get("storedVersions") or ())
    stored = [version.get("name") or "" for version in form.versions if version.get("storage")]
    return stored[:1]


def _check_stored_versions(stored: list[str], form: Internal) -> list[StatusCause]:
    path = "status.storedVersions"
    if not stored:
        return [causes.invalid(path, None, "must have at least one stored version")]
    served = [version.get("name") or "" for version in form.versions]
    found = [
        causes.invalid(path, stored, f"must have the storage version {version['name']}")
        for version in form.versions
        if version.get("storage") and version.get("name") not in stored
    ]
    for index, name in enumerate(stored):
        if name not in served:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must "
                "remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {name} and removes {name} from status.storedVersions"
            )
            found.append(causes.invalid(f"{path}[{index}]", name, detail))
    return found


def _approval(definition: Json) -> tuple[str, str]:
    """Return the state of the approval annotation of protected groups, and its error message."""
    given = ((definition.get("metadata") or {}).get("annotations") or {}).get(_APPROVAL) or ""
    needed = f'protected groups must have approval annotation "{_APPROVAL}"'
    if not given:
        return "missing", f"{needed}, {_SEE}"
    if given.startswith("unapproved"):
        return "bypassed", ""
    if formats.is_uri(given) and urlsplit(given).scheme and urlsplit(given).netloc:
        return "approved", ""
    return "invalid", f'{needed} with either a URL or a reason starting with "unapproved", {_SEE}'


def _check_approval(definition: Json, old: Json | None) -> list[StatusCause]:
    group = str((definition.get("spec") or {}).get("group") or "")
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return []
    state, complaint = _approval(definition)
    if not complaint or (old is not None and _approval(old)[0] == state):
        return []
    path = f"metadata.annotations[{_APPROVAL}]"
    if state == "missing":
        return [causes.required(path, complaint)]
    given = definition["metadata"]["annotations"][_APPROVAL]
    return [causes.invalid(path, given, complaint)]


def _check_preserving(definition: Json, old: Json | None) -> list[StatusCause]:
    if old is not None and (old.get("spec") or {}).get("preserveUnknownFields"):
        return []
    if not (definition.get("spec") or {}).get("preserveUnknownFields"):
        return []
    detail = (
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
        "spec.versions[*].schema instead"
    )
    return [causes.invalid("spec.preserveUnknownFields", True, detail)]
