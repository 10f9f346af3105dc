"""JSON patch compared with a simple model, and the departures from the RFC."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.patch.json_patch import JsonPatchError, apply_json_patch

STEPS = st.sampled_from(["a", "b", "0", "1", "-1", "-", "x/y", "m~n", ""])
SCALARS: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers(0, 2) | st.just("t")
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=6,
)
DOCUMENTS = st.dictionaries(st.sampled_from(["a", "b", "x/y", "m~n", "0"]), VALUES, max_size=4)
PATHS = st.lists(STEPS, min_size=1, max_size=3)


def pointer(path: list[str]) -> str:
    """Return a path as a JSON pointer."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)


class Refused(Exception):  # noqa: N818 - the model's word for JsonPatchError
    """The model cannot do an operation."""


def place(doc: Any, path: list[str]) -> tuple[Any, Any]:
    """Return the container of a path's target, and the key or index in it."""
    for step in path[:-1]:
        key = index(doc, step) if isinstance(doc, list) else step
        try:
            doc = doc[key]
        except (KeyError, IndexError, TypeError):
            raise Refused from None
    if not isinstance(doc, dict | list):
        raise Refused
    return doc, path[-1]


def index(items: list[Any], step: str, extra: int = 0) -> int:
    """Return a step as an index."""
    if not step.lstrip("-").isdigit():
        raise Refused
    number = int(step)
    number += (len(items) + extra) if number < 0 else 0
    if not 0 <= number < len(items) + extra:
        raise Refused
    return number


def model(doc: Any, op: str, path: list[str], value: Any) -> None:
    """Apply an operation in place."""
    where, step = place(doc, path)
    if isinstance(where, dict):
        if op == "remove":
            if step not in where:
                raise Refused
            del where[step]
        else:
            where[step] = value
    elif op == "add":
        if step == "-":
            where.append(value)
        else:
            where.insert(index(where, step, 1), value)
    elif op == "remove":
        del where[index(where, step)]
    else:
        where[index(where, step)] = value


@settings(deadline=None, max_examples=300)
@given(doc=DOCUMENTS, op=st.sampled_from(["add", "remove", "replace"]), path=PATHS, value=VALUES)
def test_operations_do_what_the_model_does(doc: Any, op: str, path: list[str], value: Any) -> None:
    """Both fail for the same operations; the original document is not changed."""
    before, wanted = deepcopy(doc), deepcopy(doc)
    operation = {"op": op, "path": pointer(path), "value": value}
    try:
        model(wanted, op, path, value)
    except Refused:
        with pytest.raises(JsonPatchError):
            apply_json_patch(doc, [operation])
    else:
        assert apply_json_patch(doc, [operation]) == wanted
    assert doc == before


@settings(deadline=None)
@given(doc=DOCUMENTS, path=PATHS, target=PATHS)
def test_move_is_copy_and_remove(doc: Any, path: list[str], target: list[str]) -> None:
    """If both succeed and the target is not inside the moved value."""
    source = {"from": pointer(path), "path": pointer(target)}
    remove = {"op": "remove", "path": pointer(path)}
    try:
        value = deepcopy(doc)
        where, step = place(value, path)
        value = where[index(where, step) if isinstance(where, list) else step]
        wanted = apply_json_patch(
            apply_json_patch(doc, [remove]),
            [{"op": "add", "path": pointer(target), "value": value}],
        )
    except (Refused, JsonPatchError, KeyError):
        with pytest.raises(JsonPatchError):
            apply_json_patch(doc, [{"op": "move", **source}])
    else:
        assert apply_json_patch(doc, [{"op": "move", **source}]) == wanted


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "replace", "path": "/new", "value": 1}, {"l": [1, 2], "m": {}, "new": 1}),
        ({"op": "add", "path": "/new"}, {"l": [1, 2], "m": {}, "new": None}),
        ({"op": "copy", "from": "/gone", "path": "/new"}, {"l": [1, 2], "m": {}, "new": None}),
        ({"op": "test", "path": "/gone", "value": None}, {"l": [1, 2], "m": {}}),
        ({"op": "test", "path": "/l/-1", "value": 2}, {"l": [1, 2], "m": {}}),
        ({"op": "test", "path": "", "value": {"l": [1, 2], "m": {}}}, {"l": [1, 2], "m": {}}),
        ({"op": "remove", "path": "/l/-2"}, {"l": [2], "m": {}}),
        ({"op": "add", "path": "/l/-1", "value": 3}, {"l": [1, 2, 3], "m": {}}),
        ({"op": "add", "path": "/l/2", "value": 3}, {"l": [1, 2, 3], "m": {}}),
        ({"op": "add", "path": "ignored/new", "value": 1}, {"l": [1, 2], "m": {}, "new": 1}),
        ({"op": "replace", "path": "", "value": {}}, {}),
        ({"op": "replace", "path": "/l/+0", "value": 5}, {"l": [5, 2], "m": {}}),
    ],
)
def test_departures_that_the_library_of_the_server_accepts(operation: Any, result: Any) -> None:
    """Clients rely on them."""
    assert apply_json_patch({"l": [1, 2], "m": {}}, [operation]) == result


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/gone"},
        {"op": "remove", "path": ""},
        {"op": "add", "path": "m", "value": 1},
        {"op": "add", "path": "/l/3", "value": 1},
        {"op": "add", "path": "/gone/x", "value": 1},
        {"op": "add", "path": "/l/x", "value": 1},
        {"op": "replace", "path": "/l/-", "value": 1},
        {"op": "replace", "path": "", "value": 1},
        {"op": "test", "path": "/l/0", "value": 1.0},
        {"op": "test", "path": "/l/0", "value": True},
        {"op": "test", "path": "/l/0"},
        {"op": "test", "path": "/gone", "value": 0},
        {"op": "move", "from": "/gone", "path": "/new"},
        {"op": "move", "path": "/new"},
        {"op": "increment", "path": "/l/0"},
        {"op": 1, "path": "/l"},
        {"path": "/l"},
        {"op": "add", "value": 1},
        {"op": "add", "path": 1},
        "no operation",
    ],
)
def test_refused_patches(operation: Any) -> None:
    """One bad operation refuses the whole patch."""
    doc = {"l": [1, 2], "m": {}}
    with pytest.raises(JsonPatchError):
        apply_json_patch(doc, [{"op": "add", "path": "/m/x", "value": 1}, operation])
    assert doc == {"l": [1, 2], "m": {}}


def test_a_path_may_lead_through_lists() -> None:
    """Containers on the path are copied; the original does not change."""
    doc = {"a": [{"b": 1}]}

    done = apply_json_patch(doc, [{"op": "add", "path": "/a/0/c", "value": 2}])

    assert done == {"a": [{"b": 1, "c": 2}]}
    assert doc == {"a": [{"b": 1}]}
