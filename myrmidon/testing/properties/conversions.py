"""Property tests of the conversions between the versions of a kind.

    def test_web_apps_convert():
        check_conversions(WebApp, lost=["spec.owner"])

``check_conversions`` draws objects of each version by its schema (``strategies``).  The laws:

1. there and back: hub to spoke to hub, and spoke to hub to spoke, gives the same object, with defaults filled in.
2. valid: what a conversion returns fits the schema of its version, so that a user can write it back.
3. nothing forgotten: no field is kept in an annotation only, except those that are named in ``lost``.  A field that a
   function forgets still comes back, because it is kept; but the other version, and the controller, never see it.
4. an edit wins: a spec that was written in the other version is still there after the way through the first.

Importing this module needs hypothesis: ``pip install 'myrmidon[test]'``.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from myrmidon.api.objects.accessors import Json
from myrmidon.api.typed.hubs import hub_of
from myrmidon.api.values.equality import same
from myrmidon.apiserver.schema.structural import compile_schema
from myrmidon.apiserver.schema.validation import check_object
from myrmidon.apiserver.schema_node import Schema
from myrmidon.errors import ConversionError, UsageError
from myrmidon.generate.schema.schema import schema_of_resource
from myrmidon.patch.diff import difference
from myrmidon.testing.properties.strategies import AnyResource, Fields, resources
from myrmidon.webhooks.versions import convert, versions_of
from myrmidon.webhooks.versions.conversion import FIELDS_OF, with_defaults
from myrmidon.webhooks.versions.remembered import lost_paths, read_memory


class ConversionLawError(AssertionError):
    """A conversion breaks a law; the message names the law, the object and the fields."""


def check_conversions(
    resource: type[AnyResource],
    *,
    fields: Mapping[type[AnyResource], Fields] | None = None,
    lost: Iterable[str] = (),
    max_examples: int = 50,
) -> None:
    """Check the conversions of all versions of a kind; raise ``ConversionLawError`` for the simplest failure.

    - ``fields``: strategies of fields of the spec, by path, for each class; see ``strategies.resources``.
    - ``lost``: the fields that one of the versions does not have, by their path in the other one:
      ``spec.owner``, ``spec.ports[].name``.
    - ``max_examples``: how many pairs of objects are drawn for each version and direction.
    """
    hub, *spokes = versions_of(resource).values()
    if not spokes:
        raise UsageError(
            f"{hub_of(resource).__name__} has no other version.\n"
            f"  fix: write a class with converts={hub_of(resource).__name__}, and import its module"
        )
    allowed = frozenset(lost)
    for spoke in spokes:
        for source, target in ((hub, spoke), (spoke, hub)):
            _check(source, target, (fields or {}), allowed, max_examples)


def _check(
    source: type[AnyResource],
    target: type[AnyResource],
    fields: Mapping[type[AnyResource], Fields],
    allowed: frozenset[str],
    max_examples: int,
) -> None:
    drawn = resources(source, fields=fields.get(source))
    others = resources(target, fields=fields.get(target))

    @settings(
        max_examples=max_examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        database=None,
        phases=(Phase.generate, Phase.shrink),  # not explain: it runs the test many times more
    )
    @given(drawn, st.one_of(st.none(), others))
    def holds(obj: AnyResource, edit: AnyResource | None) -> None:
        check_converted_object(obj, target, edit=edit, lost=allowed)

    holds()


def check_converted_object(
    obj: AnyResource,
    target: type[AnyResource],
    *,
    edit: AnyResource | None = None,
    lost: Iterable[str] = (),
) -> None:
    """Check the laws for one object and one other version; ``edit`` is an object of that version."""
    source = type(obj)
    given = with_defaults(obj.to_json(), source)
    there = _converted("there and back", given, source, target)
    _check_valid(there, source, target)
    back = _converted("there and back", there, target, source)
    _expect("there and back", given, back, source, target)
    _check_nothing_forgotten(given, there, (source, target), frozenset(lost))
    if edit is not None:
        wanted = with_defaults({**there, "spec": edit.to_json().get("spec", {})}, target)
        through = _converted("an edit wins", wanted, target, source)
        again = _converted("an edit wins", through, source, target)
        _expect("an edit wins", _spec(wanted), _spec(again), target, source)


def _converted(law: str, obj: Json, source: type[AnyResource], target: type[AnyResource]) -> Json:
    try:
        return convert(obj, source, target)
    except ConversionError as error:
        raise ConversionLawError(_told(law, source, target, [str(error)], obj)) from error


@cache
def _compiled(resource: Any) -> Schema:
    return compile_schema(schema_of_resource(resource))


def _check_valid(there: Json, source: type[AnyResource], target: type[AnyResource]) -> None:
    hashable: Any = target  # a type checker takes the objects' missing hash for that of the class
    causes = check_object(there, _compiled(hashable))
    if causes:
        lines = [f"{cause.field}: {cause.message}" for cause in causes]
        raise ConversionLawError(_told("valid", source, target, lines, there))


def _check_nothing_forgotten(
    given: Json,
    there: Json,
    way: tuple[type[AnyResource], type[AnyResource]],
    allowed: frozenset[str],
) -> None:
    source, target = way
    annotations = there["metadata"].get("annotations") or {}
    memory = read_memory(annotations.get(FIELDS_OF + source.KIND.version, ""))
    paths = [path for path in lost_paths(memory or {"f": {}}) if path not in allowed]
    if paths:
        fix = f"fix: convert them in both functions, or name them: lost={paths}"
        lines = [*(f"- {path}" for path in paths), fix]
        raise ConversionLawError(_told("nothing forgotten", source, target, lines, given))


def _expect(
    law: str,
    expected: Json,
    found: Json,
    source: type[AnyResource],
    target: type[AnyResource],
) -> None:
    if not same(expected, found):
        lines = difference(expected, found)
        raise ConversionLawError(_told(law, source, target, lines, expected))


def _spec(obj: Json) -> Json:
    return {"metadata": {"name": obj["metadata"]["name"]}, "spec": obj.get("spec")}


def _told(
    law: str,
    source: type[AnyResource],
    target: type[AnyResource],
    lines: Iterable[str],
    obj: Json,
) -> str:
    way = f"{source.__name__} ({source.KIND.version}) to {target.__name__} ({target.KIND.version})"
    head = f"the law {law!r} of conversion does not hold from {way}: {_LAWS[law]}"
    shown: Any = obj.get("spec")
    return "\n".join([head, *(f"  {line}" for line in lines), f"  the object: {shown}"])


_LAWS = {
    "there and back": "an object must come back as it was",
    "valid": "a converted object must fit the schema of its version",
    "nothing forgotten": "these fields are kept in an annotation only, the other version never sees them",
    "an edit wins": "a spec that was written in the other version must still be there after the way back",
}
