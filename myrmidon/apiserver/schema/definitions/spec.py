"""Validation of the spec of a definition: group, scope, names and versions."""

from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.refusals import causes, names
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.schema.definitions.columns import check_columns
from myrmidon.apiserver.schema.definitions.conversion import check_conversion
from myrmidon.apiserver.schema.definitions.internal import Internal
from myrmidon.apiserver.schema.definitions.schemas import check_validation
from myrmidon.apiserver.schema.definitions.selectable import check_selectable
from myrmidon.apiserver.schema.definitions.subresources import check_subresources
from myrmidon.apiserver.schema.definitions.unrecognized import nodes

_WARNING_BYTES_MAX = 256


def check_spec(form: Internal) -> list[StatusCause]:
    """Return the errors of the spec, in the order of the real server."""
    found = _check_group(form.spec.get("group") or "")
    found += choice("spec.scope", form.spec.get("scope") or "", ("Cluster", "Namespaced"))
    found += _check_schemas_present(form)
    for index, version in enumerate(form.versions):
        found += _check_version(version, f"spec.versions[{index}]", form)
    found += _check_version_list(form)
    found += _check_names(form.names)
    found += check_validation(
        form.shared["validation"], "spec.validation", has_status=form.has_any_status()
    )
    found += check_subresources(form.shared["subresources"], "spec.subresources")
    found += check_columns(form.shared["additionalPrinterColumns"], "spec.additionalPrinterColumns")
    found += _check_shared_selectable(form)
    return found + _check_conversion(form)


def choice(path: str, value: str, accepted: tuple[str, ...]) -> list[StatusCause]:
    """Return an error if a field does not have one of the accepted values."""
    if not value:
        return [causes.required(path)]
    return [] if value in accepted else [causes.not_supported(path, value, accepted)]


def _check_group(group: str) -> list[StatusCause]:
    path = "spec.group"
    if not group:
        return [causes.required(path)]
    if broken := names.subdomain_problems(group):
        return [causes.invalid(path, group, ",".join(broken))]
    if "." not in group:
        return [causes.invalid(path, group, "should be a domain with at least one dot")]
    return []


def _openapi(validation: Any) -> Json | None:
    found: Json | None = (validation or {}).get("openAPIV3Schema")
    return found


def _check_schemas_present(form: Internal) -> list[StatusCause]:
    found: list[StatusCause] = []
    if _openapi(form.shared["validation"]) is None:
        found += [
            causes.required(f"spec.versions[{index}].schema.openAPIV3Schema")
            for index, version in enumerate(form.versions)
            if _openapi(version.get("schema")) is None
        ]
    schemas = [form.shared["validation"], *(each.get("schema") for each in form.versions)]
    has_defaults = any(
        node.get("default") is not None for schema in schemas for node in nodes(_openapi(schema))
    )
    if has_defaults and form.spec.get("preserveUnknownFields"):
        detail = "must be false in order to use defaults in the schema"
        found.append(causes.invalid("spec.preserveUnknownFields", True, detail))
    return found


def _check_version(version: Json, path: str, form: Internal) -> list[StatusCause]:
    name = version.get("name") or ""
    found: list[StatusCause] = []
    if broken := names.label1035_problems(name):
        found.append(causes.invalid(f"{path}.name", name, ",".join(broken)))
    found += _check_warning(version, path)
    found += check_validation(
        version.get("schema"), f"{path}.schema", has_status=form.has_status(version)
    )
    found += check_subresources(version.get("subresources"), f"{path}.subresources")
    found += check_columns(
        version.get("additionalPrinterColumns"), f"{path}.additionalPrinterColumns"
    )
    fields = version.get("selectableFields")
    if fields:
        schema = _openapi(version.get("schema"))
        where = f"{path}.selectableFields"
        if schema is None:
            detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
            found.append(causes.invalid(where, "", detail))
        else:
            found += check_selectable(fields, schema, where)
    return found


def _check_warning(version: Json, path: str) -> list[StatusCause]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return []
    broken: list[str] = []
    if not version.get("deprecated"):
        broken.append("can only be set for deprecated versions")
    else:
        if len(warning.encode()) > _WARNING_BYTES_MAX:
            broken.append(f"must be <= {_WARNING_BYTES_MAX} characters long")
        if not warning:
            broken.append("must not be an empty string")
        bad = next((i for i, char in enumerate(warning) if not char.isprintable()), None)
        if bad is not None:
            broken.append(
                "must only contain printable UTF-8 characters; non-printable character found at "
                f"index {len(warning[:bad].encode())}"
            )
    where = f"{path}.deprecationWarning"
    return [causes.invalid(where, warning, text) for text in broken]


def _check_version_list(form: Internal) -> list[StatusCause]:
    path, shown = "spec.versions", form.shown_versions()
    listed = [version.get("name") or "" for version in form.versions]
    found: list[StatusCause] = []
    if len(set(listed)) != len(listed):
        found.append(causes.invalid(path, shown, "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in form.versions) != 1:
        detail = "must have exactly one version marked as storage version"
        found.append(causes.invalid(path, shown, detail))
    if form.version and (broken := names.label1035_problems(form.version)):
        found.append(causes.invalid("spec.version", form.version, ",".join(broken)))
    return found


def _check_names(given: Json) -> list[StatusCause]:
    path = "spec.names"
    found = [
        causes.required(f"{path}.{field}")
        for field in ("plural", "singular", "kind", "listKind")
        if not given.get(field)
    ]
    for field in ("plural", "singular", "kind", "listKind"):
        name = given.get(field) or ""
        mixed = field in ("kind", "listKind")
        if name and (broken := names.label1035_problems(name.lower() if mixed else name)):
            prefix = "may have mixed case, but should otherwise match: " if mixed else ""
            found.append(causes.invalid(f"{path}.{field}", name, prefix + ",".join(broken)))
    found += _check_listed_names(given.get("shortNames"), f"{path}.shortNames")
    if given.get("kind") and given["kind"] == given.get("listKind"):
        detail = "kind and listKind may not be the same"
        found.append(causes.invalid(f"{path}.listKind", given["listKind"], detail))
    return found + _check_listed_names(given.get("categories"), f"{path}.categories")


def _check_listed_names(listed: list[str] | None, path: str) -> list[StatusCause]:
    return [
        causes.invalid(f"{path}[{index}]", name, ",".join(broken))
        for index, name in enumerate(listed or ())
        if (broken := names.label1035_problems(name))
    ]


def _check_shared_selectable(form: Internal) -> list[StatusCause]:
    fields, path = form.shared["selectableFields"], "spec.selectableFields"
    if not fields:
        return []
    schema = _openapi(form.shared["validation"])
    if schema is None:
        return [causes.invalid(path, "", "may only be set when validations.schema is included")]
    return check_selectable(fields, schema, path)


def _check_conversion(form: Internal) -> list[StatusCause]:
    conversion = form.spec.get("conversion")
    found: list[StatusCause] = []
    strategy = (conversion or {}).get("strategy") or ""
    if conversion and strategy != "None" and form.spec.get("preserveUnknownFields"):
        detail = "must be None if spec.preserveUnknownFields is true"
        found.append(causes.invalid("spec.conversion.strategy", strategy, detail))
    if conversion is not None:
        found += choice("spec.conversion.strategy", strategy, ("None", "Webhook"))
        found += check_conversion(conversion, "spec.conversion")
    return found
