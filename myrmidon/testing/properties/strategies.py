"""Hypothesis strategies for resources, edits and faults.

    @given(resources(WebApp, fields={"hosts": st.lists(names(), max_size=2)}))
    def test_every_application_gets_a_service(app): ...

``resources`` draws objects that the API server accepts, from the schema that ``myrmidon generate crd``
writes: types, bounds, lengths, enums, patterns, required fields, nested models, keys of list maps.
What a schema only checks (rules in CEL, validators in Python) is checked for each drawn object, and
objects that fail are dropped.

A schema says less than a controller expects.  A ``str`` without a pattern is drawn as a DNS label,
because it usually ends up in a name, a label or a host; a number without bounds is drawn from 0 to 100.
Where that is too narrow, or a value must be the name of an object that exists, ``fields`` gives the
strategy of a field of the spec by its path on the wire: ``"hosts"``, ``"template.image"``,
``"ports[].name"``.

Importing this module needs hypothesis: ``pip install 'myrmidon[test]'``.
"""

import base64
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias, TypeVar

from hypothesis import strategies as st

from myrmidon.api.objects.accessors import Json
from myrmidon.api.typed.model import Model
from myrmidon.api.typed.resource import Resource
from myrmidon.api.typed.scalars import BASE64_PATTERN
from myrmidon.api.values.durations import DURATION_PATTERN
from myrmidon.api.values.quantities import QUANTITY_PATTERN
from myrmidon.apiserver.schema.structural import compile_schema
from myrmidon.apiserver.schema.validation import check_object
from myrmidon.errors import UnfitObjectError, UsageError
from myrmidon.generate.schema.schema import PRESERVE, schema_of_resource
from myrmidon.testing.faults.transport import (
    Break,
    Crash,
    Cut,
    Delay,
    Expire,
    Fault,
    Hang,
    Lose,
    Refuse,
    Script,
    Status,
    Truncate,
)

AnyResource: TypeAlias = Resource[Any, Any]
ResourceT = TypeVar("ResourceT", bound=AnyResource)
Fields: TypeAlias = Mapping[str, st.SearchStrategy[Any]]
"""Strategies of fields of the spec, by their path on the wire."""

_ITEMS_MAX = 3  # items of a list or map without a bound of their own
_ABOVE_MINIMUM = 100
_SECONDS_MAX = 4_102_444_800  # the year 2100


def names() -> st.SearchStrategy[str]:
    """Draw short names that are valid for objects of every kind, as labels and as hosts."""
    return st.from_regex(r"[a-z]([-a-z0-9]{0,8}[a-z0-9])?", fullmatch=True)


def resources(
    resource: type[ResourceT],
    *,
    name: st.SearchStrategy[str] | None = None,
    fields: Fields | None = None,
) -> st.SearchStrategy[ResourceT]:
    """Draw objects of a resource class that the API server accepts.

    ``name`` draws the names, by default ``names()``; ``fields`` draws fields of the spec.
    """
    return _manifests(resource, names() if name is None else name, fields or {}).map(
        resource.from_json
    )


def edits(resource: type[AnyResource], *, fields: Fields | None = None) -> st.SearchStrategy[Model]:
    """Draw specs, to which a test changes the spec of an existing object."""

    def spec(obj: Json) -> Model:
        return resource.from_json(obj).spec  # type: ignore[no-any-return]

    return _manifests(resource, st.just("edited"), fields or {}).map(spec)


def faults(
    *, within: int = 40, crashes: bool = True, most: int = 4
) -> st.SearchStrategy[dict[int, Fault]]:
    """Draw up to ``most`` faults among the first ``within`` requests: the argument of ``Script``.

    With ``crashes``, the process of the controllers may be killed; the test must call ``restart``
    when ``Harness.crashed``.  ``Stall`` is never drawn: a watch notices it only after minutes, for which
    ``settle`` does not wait.
    """
    kinds: list[st.SearchStrategy[Fault]] = [
        st.sampled_from((Lose(), Refuse(), Truncate(), Hang())),
        st.sampled_from((Status(500), Status(503), Status(429, retry_after=2), Status(504))),
        st.builds(Delay, st.sampled_from((0.1, 5.0, 45.0))),
        st.builds(Cut, st.integers(0, 3)),
        st.builds(Break, st.integers(0, 3)),
        st.builds(Expire, st.integers(0, 3)),
    ]
    if crashes:
        kinds.append(st.builds(Crash, st.booleans()))
    return st.dictionaries(st.integers(1, within), st.one_of(kinds), max_size=most)


def scripts(**options: Any) -> st.SearchStrategy[Script]:
    """Draw ``faults`` as scripts for ``Harness(faults=...)``.  A script counts, so it serves one harness."""
    return faults(**options).map(Script)


# ------------------------------------------------------------------------- from schemas


def _manifests(
    resource: type[AnyResource], name: st.SearchStrategy[str], fields: Fields
) -> st.SearchStrategy[Json]:
    schema = schema_of_resource(resource)
    compiled = compile_schema(schema)
    unused = dict(fields)
    specs = _values(schema["properties"]["spec"], "", unused)
    if unused:
        raise UsageError(
            f"the spec of {resource.__name__} has no field {', '.join(sorted(unused))}.\n"
            "  fix: write the path as on the wire, below spec: hosts, template.image, ports[].name"
        )

    def manifest(called: str, spec: Any) -> Json:
        return {
            "apiVersion": resource.KIND.api_version,
            "kind": resource.KIND.kind,
            "metadata": {"name": called},
            "spec": spec,
        }

    def is_valid(obj: Json) -> bool:
        try:
            resource.from_json(obj)
        except UnfitObjectError:
            return False
        return not check_object(obj, compiled)

    return st.builds(manifest, name, specs).filter(is_valid)


def _values(node: Json, path: str, fields: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return the strategy of a node; the strategies that were used are taken out of ``fields``."""
    chosen = fields.pop(path, None)
    if chosen is not None:
        return chosen  # type: ignore[no-any-return]
    found = _typed(node, path, fields)
    return st.one_of(found, st.none()) if node.get("nullable") else found


def _typed(node: Json, path: str, fields: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "enum" in node:
        return st.sampled_from(node["enum"])
    if node.get("x-kubernetes-int-or-string"):
        return (
            _quantities()
            if node.get("pattern") == QUANTITY_PATTERN
            else st.one_of(st.integers(0, 100), names())
        )
    match node.get("type"):
        case "object":
            return _objects(node, path, fields)
        case "array":
            return _lists(node, path, fields)
        case "string":
            return _texts(node)
        case "integer":
            low, high, step = _bounds(node)
            return st.integers(-(-low // step), high // step).map(lambda factor: factor * step)
        case "number":
            low, high, step = _bounds(node)
            return st.integers(-(-low * 2 // step), high * 2 // step).map(lambda n: n * step / 2)
        case "boolean":
            return st.booleans()
        case _:
            return st.one_of(st.booleans(), st.integers(0, 100), names())


def _objects(node: Json, path: str, fields: dict[str, Any]) -> st.SearchStrategy[Json]:
    if node.get("x-kubernetes-embedded-resource"):
        return names().map(
            lambda name: {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        )
    low, high = node.get("minProperties", 0), node.get("maxProperties")
    if "additionalProperties" in node or (node.get(PRESERVE) and "properties" not in node):
        inner = _values(node.get("additionalProperties", {}), f"{path}{{}}", fields)
        return st.dictionaries(names(), inner, min_size=low, max_size=_most(low, high))
    parts = {
        key: _values(value, f"{path}.{key}" if path else key, fields)
        for key, value in node.get("properties", {}).items()
    }
    required = {key: parts.pop(key) for key in node.get("required", ())}
    return st.fixed_dictionaries(required, optional=parts)


def _lists(node: Json, path: str, fields: dict[str, Any]) -> st.SearchStrategy[list[Any]]:
    items = _values(node["items"], f"{path}[]", fields)
    low, high = node.get("minItems", 0), node.get("maxItems")
    most = _most(low, high)
    match node.get("x-kubernetes-list-type"):
        case "map":
            properties = node["items"]["properties"]
            keys = node["x-kubernetes-list-map-keys"]

            def key_of(item: Json) -> tuple[Any, ...]:
                return tuple(item.get(key, properties[key].get("default")) for key in keys)

            return st.lists(items, min_size=low, max_size=most, unique_by=key_of)
        case "set":
            return st.lists(items, min_size=low, max_size=most, unique=True)
        case _:
            return st.lists(items, min_size=low, max_size=most)


def _texts(node: Json) -> st.SearchStrategy[str]:
    low, high = node.get("minLength", 0), node.get("maxLength")
    match node.get("format"), node.get("pattern"):
        case "date-time", _:
            return _moments("%Y-%m-%dT%H:%M:%SZ")
        case "date", _:
            return _moments("%Y-%m-%d")
        case _, pattern if pattern == DURATION_PATTERN:
            return st.builds("{}{}".format, st.integers(1, 59), st.sampled_from("smh"))
        case _, pattern if pattern == BASE64_PATTERN:
            return st.binary(max_size=8).map(lambda data: base64.b64encode(data).decode())
        case _, str() as pattern:
            return _matching(pattern)
        case _:
            least = max(low, 1) - 1
            shape = rf"[a-z][a-z0-9]{{{least},{max(least, min(9, high - 1) if high else 9)}}}"
            return st.from_regex(shape, fullmatch=True)


def _moments(written: str) -> st.SearchStrategy[str]:
    seconds = st.integers(0, _SECONDS_MAX)
    return seconds.map(lambda at: datetime.fromtimestamp(at, UTC).strftime(written))


def _matching(pattern: str) -> st.SearchStrategy[str]:
    """Draw texts in which the pattern is found.  The server's dialect is RE2."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # [[a] may get another meaning in Python
            found = st.from_regex(pattern, fullmatch=True, alphabet=st.characters(codec="ascii"))
            found.validate()
    except Exception as error:
        raise UsageError(
            f"texts that match {pattern!r} cannot be drawn: {error}.\n"
            "  fix: give the field a strategy of its own: fields={...}"
        ) from error
    return found


def _quantities() -> st.SearchStrategy[str]:
    suffixes = st.sampled_from(("", "m", "k", "M", "Ki", "Mi", "Gi"))
    return st.builds("{}{}".format, st.integers(1, 999), suffixes)


def _bounds(node: Json) -> tuple[int, int, int]:
    """Return the smallest and the largest whole number, and the number that divides all."""
    low, high, step = node.get("minimum"), node.get("maximum"), int(node.get("multipleOf", 1)) or 1
    above = 1 if node.get("exclusiveMinimum") else 0
    below = 1 if node.get("exclusiveMaximum") else 0
    if low is None:
        low = 0 if high is None or high >= 0 else int(high) - _ABOVE_MINIMUM
    if high is None:
        high = low + _ABOVE_MINIMUM * step
    return int(low) + above, int(high) - below, step


def _most(low: int, high: int | None) -> int:
    """Return how many items are drawn at most: few, unless the schema asks for more."""
    most = max(low, _ITEMS_MAX)
    return most if high is None else min(most, high)
