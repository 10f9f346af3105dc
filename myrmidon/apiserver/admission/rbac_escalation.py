"""Refuse roles and bindings that would grant rights which their author does not have.

To create or change a role, a user needs every right in it, or the verb ``escalate`` on it.  To
create or change a binding, a user needs every right of the role, or the verb ``bind`` on the role.
A change that leaves the rules (or the role and the subjects) as they are is always allowed.

Rules are compared one verb, group, resource and name at a time: each such part of the new rules
must be covered by one rule that the user has.  The message of the 403 lists the missing parts,
merged by their verbs, as the real server does.  The check only applies with RBAC, and not to
``system:masters``.
"""

from collections.abc import Iterable, Iterator, Sequence

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import identical
from myrmidon.apiserver.auth.rbac import GROUP, RoleAuthorizer
from myrmidon.apiserver.auth.users import MASTERS, Attributes, User
from myrmidon.apiserver.refusals.failures import Failure, not_found
from myrmidon.apiserver.requests.call import Call, PendingWrite

_FIELDS = ("apiGroups", "resources", "nonResourceURLs", "resourceNames", "verbs")
_PRINTED = ("APIGroups", "Resources", "NonResourceURLs", "ResourceNames", "Verbs")


class RightsGuard:
    """The admission step that refuses roles and bindings with more rights than their author has."""

    def admit(self, admission: PendingWrite) -> Json | None:  # noqa: ARG002 - this step only checks
        """Leave the object as it is."""
        return None

    def check(self, admission: PendingWrite) -> None:
        """Raise a 403 if the role or binding grants rights that the user does not have."""
        call, obj = admission.call, admission.obj
        authorizer = call.core.authorizer
        if (
            obj is None
            or call.type.kind.group != GROUP
            or not isinstance(authorizer, RoleAuthorizer)
        ):
            return
        if MASTERS in call.user.groups:
            return
        given = _given(admission, authorizer)
        namespace = obj["metadata"].get("namespace", "")
        missing = list(_missing(given, list(authorizer.rules(call.user, namespace))))
        if missing:
            raise _refusal(call, obj, missing)


def _given(admission: PendingWrite, authorizer: RoleAuthorizer) -> Sequence[Json]:
    """Return the rules that the write newly grants.

    Empty if the rules do not change, or if the user may ``escalate`` or ``bind`` without having
    them.
    """
    call, obj, old = admission.call, admission.obj, admission.old
    assert obj is not None, "a delete grants nothing"
    namespace = obj["metadata"].get("namespace", "")
    if "roleRef" not in obj:
        if old is not None and identical(obj.get("rules"), old.get("rules")):
            return ()
        wanted = _right("escalate", call.type.kind.plural, namespace, obj["metadata"]["name"])
        return () if authorizer.allows(call.user, wanted) else obj.get("rules") or ()
    if old is not None and all(
        identical(obj.get(key), old.get(key)) for key in ("roleRef", "subjects")
    ):
        return ()
    role = obj["roleRef"]
    plural = f"{role['kind'].lower()}s"
    if authorizer.allows(call.user, _right("bind", plural, namespace, role["name"])):
        return ()
    rules = authorizer.rules_of(obj)
    if rules is None:
        raise not_found(plural, GROUP, role["name"])
    return rules


def _right(verb: str, plural: str, namespace: str, name: str) -> Attributes:
    return Attributes(verb, GROUP, "v1", plural, namespace=namespace, name=name)


def _missing(given: Iterable[Json], held: Sequence[Json]) -> Iterator[Json]:
    for rule in given:
        for part in _parts(rule):
            if not any(_covers(own, part) for own in held):
                yield part


def _parts(rule: Json) -> Iterator[Json]:
    """Split a rule into rules of one verb and one resource, name or URL each."""
    for verb in rule.get("verbs") or ():
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                part = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                names = rule.get("resourceNames")
                yield from (
                    ({**part, "resourceNames": [name]} for name in names) if names else (part,)
                )
        for url in rule.get("nonResourceURLs") or ():
            yield {"nonResourceURLs": [url], "verbs": [verb]}


def _covers(own: Json, part: Json) -> bool:
    if "nonResourceURLs" in part:
        return _has(own, "verbs", part) and any(
            each == part["nonResourceURLs"][0]
            or (each.endswith("*") and part["nonResourceURLs"][0].startswith(each[:-1]))
            for each in own.get("nonResourceURLs") or ()
        )
    names = own.get("resourceNames")
    return (
        all(_has(own, field, part) for field in ("verbs", "apiGroups"))
        and (_has(own, "resources", part) or _has_subresource(own, part))
        and (not names or part.get("resourceNames", [None])[0] in names)
    )


def _has(own: Json, field: str, part: Json) -> bool:
    listed = own.get(field) or ()
    return "*" in listed or part[field][0] in listed


def _has_subresource(own: Json, part: Json) -> bool:
    _, slash, subresource = part["resources"][0].partition("/")
    return bool(slash) and f"*/{subresource}" in (own.get("resources") or ())


def _refusal(call: Call, obj: Json, missing: list[Json]) -> Failure:
    kind, name = call.type.kind, obj["metadata"]["name"]
    texts = sorted({_printed(rule) for rule in _merged(missing)})
    listed = "\n".join(texts)
    return Failure(
        403,
        "Forbidden",
        f'{kind.plural}.{GROUP} "{name}" is forbidden: {_named(call.user)} is attempting to grant RBAC '
        f"permissions not currently held:\n{listed}",
        group=GROUP,
        kind=kind.plural,
        name=name,
    )


def _merged(missing: list[Json]) -> list[Json]:
    """Merge the rules that differ only in their verbs."""
    merged: list[Json] = []
    for rule in missing:
        rest = {field: rule.get(field) for field in _FIELDS[:-1]}
        for known in merged:
            if all(known.get(field) == value for field, value in rest.items()):
                known["verbs"] = [*known["verbs"], *rule["verbs"]]
                break
        else:
            merged.append(dict(rule))
    return merged


def _printed(rule: Json) -> str:
    parts = [
        f"{name}:{_quoted(rule[field])}"
        for field, name in zip(_FIELDS, _PRINTED, strict=True)
        if rule.get(field)
    ]
    return f"{{{', '.join(parts)}}}"


def _named(user: User) -> str:
    return f'user "{user.name}" (groups={_quoted(user.groups)})'


def _quoted(texts: Iterable[str]) -> str:
    return "[" + " ".join(f'"{text}"' for text in texts) + "]"
