"""Whether Python and a server validate a spec alike: the drawn specs, and the comparison."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from myrmidon.api import Model, Resource
from myrmidon.errors import UnfitObjectError
from myrmidon.generate.schema.schema import PRESERVE, schema_of_model

TEXTS = st.sampled_from(
    ["", "a", "ab", "abc", "abcd", "ab cd", "a-b", "A", "red", "green", "x\n", "ab\n", "é", "日本", "\u0663", "a 1",
     "a \u0663", "é 1", "[x", "&x", "~x", "\\x", "-x", "http", "80", "1", "TCP", "UDP", "xaby", "éabé", "a b ab", "true", "null"]
)  # fmt: skip
QUANTITIES = st.sampled_from(
    ["1", "500m", "1Gi", "1.5Ki", "+1", "-1", "1e3", "1E3", "1E", ".5", "5.", "", ".", "1 Gi", "1gi", "1e", "1e1.5", "0x1",
     "\u0661", "1\n", "1Kii", "--1", "1e+3", "1e-3"]
)  # fmt: skip
MOMENTS = st.sampled_from(
    ["2030-01-31T12:00:00Z", "2030-01-31t12:00:00z", "2030-01-31T12:00:00.5Z", "2030-01-31T12:00:00.123456789+02:00",
     "2030-01-31 12:00:00Z", "2030-01-31T12:00:00", "2030-02-30T12:00:00Z", "2030-01-31T24:00:00Z", "2030-01-31T12:00Z",
     "2030-01-31", "20300131T120000Z", "1893456000", "2030-01-31T12:60:00Z", "2030-01-31T12:00:00-0500", "", "\u0662030-01-31",
     "2030-01-31T12:00:00Z\n", "2030-1-31", "2028-02-29", "2030-02-29", "2030-01-31T12:00:00,5Z", "2030-01-31T12:00:00x5Z", "2030-01-31T12:00:00+23:59", "0001-01-01T00:00:00Z"]
)  # fmt: skip
SPANS = st.sampled_from(
    [
        "1h",
        "1h30m",
        "1.5s",
        "250ms",
        "10us",
        "0",
        "0s",
        "-1h",
        "+1h",
        "1",
        "1d",
        "PT1H",
        "",
        "1h ",
        "1µs",
        "9999999999h",
        "1h\n",
        ".5h",
    ]
)
BASE64 = st.sampled_from(
    ["", "aGVsbG8=", "aGVsbG8", "a", "aGVs\n", "aGVs", "_-==", "aGVsbG8=\n", "YQ=="]
)
HUGE = (2**63, -(2**63) - 1, 1e19, 1e300)
NUMBERS = st.sampled_from(
    [0, 1, -1, 2, 3, 4, 5, 6, 9, 10, 11, 65535, 65536, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1,
     1.0, 3.0, 1.5, 0.5, 2.5, 0.1, -0.0, 1e15, 1e18, 1e19, 1e300]
)  # fmt: skip
JUNK = st.one_of(
    TEXTS,
    NUMBERS,
    st.none(),
    st.booleans(),
    st.sampled_from([[], {}, [None], [1, "a"], {"a": None}, {"a": {"b": 1}}, ["a", "a"], [[1]]]),
)
ODD_TEXTS = st.one_of(TEXTS, QUANTITIES, MOMENTS, SPANS, BASE64)


def is_known_disagreement(value: Any, schema: dict[str, Any]) -> bool:
    """What the server takes by mistake, and what it rounds; docs list both.

    A text with a format may be a list, because the server then looks at the format alone.  A number
    of more than 64 bits in a field without a type is kept as a float.  Whether a float is a multiple
    is computed with a tolerance that grows with the float.
    """
    match value:
        case dict():
            inner = schema.get("properties", {})
            rest = schema.get("additionalProperties", {})
            return any(
                is_known_disagreement(item, inner.get(key, rest)) for key, item in value.items()
            )
        case list():
            if schema.get("type") == "string" and "format" in schema:
                return True
            return any(is_known_disagreement(item, schema.get("items", {})) for item in value)
        case int() | float():
            rounded = isinstance(value, float) and abs(value) > 2**31 and "multipleOf" in schema
            return rounded or (value in HUGE and "type" not in schema)
        case _:
            return False


@st.composite
def specs(draw: st.DrawFn, model: type[Model]) -> Any:
    """Draw specs that are valid in most places and invalid in some, not in known disagreements."""
    schema, strategy = _drawn(model)
    spec = draw(strategy)
    assume(not is_known_disagreement(spec, schema))
    return spec


@cache
def _drawn(model: type[Model]) -> tuple[dict[str, Any], st.SearchStrategy[Any]]:
    schema = schema_of_model(model)
    return schema, _values(schema, wrong=False)


def _values(node: dict[str, Any], *, wrong: bool = True) -> st.SearchStrategy[Any]:
    right = _right(node)
    if node.get("nullable"):
        right = st.one_of(right, right, st.none())
    return st.one_of(right, right, right, right, JUNK) if wrong else right


def _right(node: dict[str, Any]) -> st.SearchStrategy[Any]:
    if "enum" in node:
        return st.sampled_from(node["enum"])
    if node.get("x-kubernetes-embedded-resource"):
        return st.sampled_from([
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"}},
            {"apiVersion": "v1", "kind": "ConfigMap"}, {"kind": "ConfigMap"}, {"apiVersion": "", "kind": "A"}, {},
        ])  # fmt: skip
    if node.get("x-kubernetes-int-or-string"):
        return st.one_of(QUANTITIES, NUMBERS, TEXTS)
    match node.get("type"):
        case "object":
            return _objects(node)
        case "array":
            return st.lists(_values(node["items"]), max_size=3)
        case "string":
            return ODD_TEXTS if "format" in node or "pattern" in node else TEXTS
        case "integer" | "number":
            return NUMBERS
        case "boolean":
            return st.booleans()
        case _:
            return JUNK


def _objects(node: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    properties = node.get("properties", {})
    required = {key: _values(properties[key]) for key in node.get("required", ())}
    optional = {key: _values(value) for key, value in properties.items()}
    known = st.fixed_dictionaries(
        required, optional={key: value for key, value in optional.items() if key not in required}
    )
    some = st.fixed_dictionaries({}, optional=optional)
    extra = _values(node["additionalProperties"]) if "additionalProperties" in node else JUNK
    extras = st.dictionaries(st.sampled_from(["x", "y", "z", "value_of"]), extra, max_size=2)
    bases = st.one_of(known, known, known, some)
    return st.builds(_with_extras, bases, extras)


def _with_extras(base: dict[str, Any], extras: dict[str, Any]) -> dict[str, Any]:
    """Unknown fields, but not a field in both of its spellings: Python takes null for unset there."""
    if "valueOf" in base:
        extras = {key: value for key, value in extras.items() if key != "value_of"}
    return {**extras, **base}


def fits(resource: type[Resource[Any, Any]], spec: Any) -> bool:
    """Whether the model accepts the spec."""
    try:
        resource.from_json({"metadata": {"name": "a"}, "spec": spec})
    except UnfitObjectError:
        return False
    return True


def stored(model: Model, schema: dict[str, Any]) -> dict[str, Any]:
    """Return what Python expects the server to store: with defaults, without unknown fields."""
    model.to_wire()  # settles what counts as set
    dumped = model.model_dump(mode="json", by_alias=True)
    kept: dict[str, Any] = {}
    for name, field in type(model).model_fields.items():
        value, wire = model.__dict__[name], str(field.alias)
        if value is None and (name not in model.model_fields_set or _drops_null(schema, wire)):
            continue
        kept[wire] = _stored(value, dumped[wire], schema["properties"][wire])
    if schema.get(PRESERVE):
        kept |= model.model_extra or {}
    return kept


def _drops_null(schema: dict[str, Any], wire: str) -> bool:
    node = schema["properties"][wire]
    return "enum" in node and not node.get("nullable")


def _stored(value: Any, dumped: Any, schema: dict[str, Any]) -> Any:
    match value:
        case Model():
            return stored(value, schema)
        case list() | tuple() if "items" in schema:
            return [_stored(item, dumped[at], schema["items"]) for at, item in enumerate(value)]
        case dict() if "additionalProperties" in schema:
            inner = schema["additionalProperties"]
            return {key: _stored(item, dumped[key], inner) for key, item in value.items()}
        case _:
            return dumped


def paths(value: Any, at: str = "") -> Iterator[str]:
    """Return the paths of everything in a document."""
    yield at
    match value:
        case dict():
            for key in sorted(value):
                yield from paths(value[key], f"{at}.{key}")
        case list():
            for index, item in enumerate(value):
                yield from paths(item, f"{at}[{index}]")
        case _:
            pass
