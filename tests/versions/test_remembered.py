"""What a conversion loses is put back, and an edit wins over what was remembered."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myrmidon.api.typed.markers import ListMap
from myrmidon.api.values.equality import same
from myrmidon.webhooks.versions.list_keys import FieldsShape, ListShape, MapShape, Shape, inside
from myrmidon.webhooks.versions.remembered import (
    lost_paths,
    put_back,
    read_memory,
    remember,
    write_memory,
)
from tests.versions.apps import AppSpec, Port

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(0, 3), st.sampled_from("ab"), st.just(1.0)
)
KEYS = st.sampled_from(("a", "b", "c"))
NAMED = st.fixed_dictionaries({"name": st.sampled_from("xyz")}, optional={"size": SCALARS})
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(st.dictionaries(KEYS, inner, max_size=2), max_size=3),
        st.dictionaries(KEYS, inner, max_size=3),
    ),
    max_leaves=8,
)
DOCUMENTS = st.fixed_dictionaries(
    {"named": st.lists(NAMED, max_size=3)},
    optional={"a": VALUES, "b": VALUES, "c": VALUES},
)
SHAPE = FieldsShape({"named": ListShape(("name",), None)})


@pytest.mark.law("V1")
@settings(max_examples=40)
@given(DOCUMENTS, DOCUMENTS)
def test_everything_comes_back_if_nothing_was_edited(base: Any, wanted: Any) -> None:
    """Whatever two documents look like, the base and the memory give the wanted one."""
    memory = remember(base, wanted, SHAPE)
    if memory is None:
        assert same(base, wanted)
        return
    read = read_memory(write_memory(memory))

    assert read is not None
    assert same(put_back(base, read), wanted)


def leaves(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Return the values that are not objects, by path."""
    if isinstance(value, dict) and value:
        return {at: one for key in value for at, one in leaves(value[key], (*path, key)).items()}
    return {path: value}


@pytest.mark.law("V1")
@settings(max_examples=40)
@given(DOCUMENTS, DOCUMENTS, DOCUMENTS)
def test_an_edit_wins_over_what_was_remembered(base: Any, wanted: Any, edited: Any) -> None:
    """Where the edited base differs from the base, the result is as edited, but for lists."""
    memory = remember(base, wanted, SHAPE)
    result = put_back(edited, memory) if memory else edited

    before, after = leaves(base), leaves(result)
    for path, value in leaves(edited).items():
        is_edit = path not in before or not same(before[path], value)
        if is_edit and not isinstance(value, list | dict):
            assert same(after.get(path), value), path


@settings(max_examples=40)
@given(DOCUMENTS, DOCUMENTS)
def test_documents_are_not_changed(base: Any, wanted: Any) -> None:
    """Both functions leave their arguments alone."""
    before = json.dumps([base, wanted])
    memory = remember(base, wanted, SHAPE)
    put_back(base, memory or {"f": {}})

    assert json.dumps([base, wanted]) == before


def ports(*values: Any) -> dict[str, Any]:
    """Return a document with a list."""
    return {"ports": list(values)}


def element(number: int, **more: Any) -> dict[str, Any]:
    """Return an element that a conversion shortens to its number."""
    return {"number": number, **more}


BASE = ports(element(1), element(2), element(3))
WANTED = ports(element(1, tls="a"), element(2), element(3, tls="c"))


@pytest.mark.parametrize(
    ("edited", "expected"),
    [
        pytest.param(BASE, WANTED, id="unedited"),
        pytest.param(
            ports(element(3), element(1), element(2)),
            ports(element(3, tls="c"), element(1, tls="a"), element(2)),
            id="moved",
        ),
        pytest.param(
            ports(element(9), element(1), element(2), element(3)),
            ports(element(9), element(1, tls="a"), element(2), element(3, tls="c")),
            id="inserted",
        ),
        pytest.param(ports(element(2), element(3)), ports(element(2), element(3, tls="c")), id="cut"),
        pytest.param(
            ports(element(8), element(2), element(3)),
            ports(element(8, tls="a"), element(2), element(3, tls="c")),
            id="edited in place",
        ),
        pytest.param(
            ports(element(2), element(3), element(9)),
            ports(element(2), element(3, tls="c"), element(9)),
            id="one removed, another appended",
        ),
        pytest.param({"ports": "none"}, {"ports": "none"}, id="another type"),
        pytest.param({}, {}, id="removed"),
        pytest.param(ports(1, 2, 3), ports(1, 2, 3), id="elements of another type"),
    ],
)  # fmt: skip
def test_elements_without_keys_are_found_again(edited: Any, expected: Any) -> None:
    """Wherever they have moved to; one that another element has displaced is dropped."""
    memory = remember(BASE, WANTED)

    assert memory is not None
    assert put_back(edited, memory) == expected


def test_equal_elements_are_told_apart_by_their_order() -> None:
    """As long as there are as many of them as before."""
    memory = remember(ports(element(1), element(1)), ports(element(1, tls="a"), element(1)))

    assert memory is not None
    assert put_back(ports(element(1), element(1)), memory) == ports(element(1, tls="a"), element(1))
    assert put_back(ports(element(1)), memory) == ports(element(1))


KEYED = FieldsShape({"ports": ListShape(("name",), None)})


def named(name: str, **more: Any) -> dict[str, Any]:
    """Return an element with a key."""
    return {"name": name, **more}


def test_elements_with_keys_survive_edits_of_the_others() -> None:
    """Also elements that the other version does not show at all."""
    base = ports(named("a", port=1), named("b", port=2))
    wanted = ports(named("x", port=9), named("b", port=2, tls=True), named("a", port=1))
    memory = remember(base, wanted, KEYED)

    assert memory is not None
    assert put_back(base, memory) == wanted
    assert put_back(ports(named("b", port=7)), memory) == ports(
        named("b", port=7, tls=True), named("x", port=9)
    )


def test_an_element_under_another_key_is_not_left_behind() -> None:
    """A conversion may give elements other keys; deleting one there must not bring it back here."""
    base = ports(named("port-0", port=80), named("port-1", port=81))
    wanted = ports(named("http", port=80, tls=True), named("port-1", port=81))
    memory = remember(base, wanted, KEYED)

    assert memory is not None
    assert put_back(base, memory) == wanted
    edited = ports(named("port-0", port=8080), named("port-1", port=81))
    assert put_back(edited, memory) == ports(
        named("http", port=8080, tls=True), named("port-1", port=81)
    )
    assert put_back(ports(named("port-0", port=81)), memory) == ports(named("port-0", port=81))


@pytest.mark.parametrize("elements", [[named("a"), named("a")], ["a"]])
def test_keys_that_do_not_tell_elements_apart_are_not_used(elements: list[Any]) -> None:
    """Then the list is put back as a whole, or by index."""
    wanted = ports(named("a", port=1), named("b"))
    for base, other in ((ports(*elements), wanted), (wanted, ports(*elements))):
        memory = remember(base, other, KEYED)
        assert memory is not None
        assert put_back(base, memory) == other
    keyed = remember(ports(named("a")), wanted, KEYED)
    assert keyed is not None
    assert put_back(ports(*elements), keyed) == ports(*elements)
    assert put_back({"ports": {}}, keyed) == {"ports": {}}


def test_alternatives_do_not_end_up_side_by_side() -> None:
    """An object in which one field stands for another: an edit of the one drops the other."""
    memory = remember({"http": {"port": 1}}, {"tcp": {"port": 1}, "owner": "me"})

    assert memory is not None
    assert put_back({"http": {"port": 1}}, memory) == {"tcp": {"port": 1}, "owner": "me"}
    assert put_back({"http": {"port": 2}}, memory) == {"http": {"port": 2}}
    assert put_back({}, memory) == {}


def test_a_value_that_was_added_by_an_edit_stays() -> None:
    """Although another one was remembered at its place."""
    memory = remember({}, {"note": "old"})

    assert memory is not None
    assert put_back({"note": "new"}, memory) == {"note": "new"}


def test_a_place_that_became_another_type_is_left_alone() -> None:
    """An object that became a text has no fields to put back."""
    memory = remember({"a": {}}, {"a": {"b": 1}})

    assert memory is not None
    assert put_back({"a": "text"}, memory) == {"a": "text"}


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", '"a"', "{}", '{"v":1}', '{"f":[]}', '{"f":{},"x":1}', '{"f":{"a":1}}',
        '{"f":{"a":{"d":1}}}', '{"f":{"a":{"v":1,"x":2}}}', '{"f":{"a":{"e":[],"i":{"x":{"v":1}}}}}',
        '{"f":{"a":{"k":["a"],"o":[1],"s":"","i":{}}}}', '{"f":{"a":{"k":["a"],"o":[],"s":"","i":{"b":2}}}}',
        '{"f":' * 5000 + "1" + "}" * 5000,
    ],
)  # fmt: skip
def test_text_that_is_not_a_memory_is_not_read(text: str) -> None:
    """A client can write anything into an annotation."""
    assert read_memory(text) is None


def test_lost_fields_are_named_by_their_paths() -> None:
    """Elements of lists once; a null that was absent is not lost."""
    base = {**BASE, "a": {}, "named": [named("x")]}
    wanted = {**WANTED, "a": {"b": 1, "c": None}, "named": [named("x", size=1), named("y")]}
    memory = remember(base, wanted, SHAPE)

    assert memory is not None
    assert lost_paths(memory) == ["ports[].tls", "a.b", "named[].size", "named[]"]


def test_the_shapes_of_models_say_which_lists_have_keys() -> None:
    """By the names on the wire, through maps, choices and nested models."""
    from typing import Annotated  # noqa: PLC0415

    from myrmidon import Model  # noqa: PLC0415

    class Deep(Model):
        port_list: Annotated[list[Port], ListMap("name")]
        maybe: Annotated[list[Port] | None, ListMap("name")] = None
        by_name: dict[str, Annotated[list["Inner"], ListMap("inner_name")]]
        either: AppSpec | Port
        plain: list[str]
        tuples: Annotated[list[dict[str, int]], ListMap("key")]

    class Inner(Model):
        inner_name: str

    Deep.model_rebuild(_types_namespace={"Inner": Inner})

    assert inside(Deep, "portList") == ListShape(("name",), Port)
    assert inside(Deep, "maybe") == ListShape(("name",), Port)
    by_name: Shape = inside(Deep, "byName")
    assert isinstance(by_name, MapShape)
    assert inside(by_name, "any") == ListShape(("innerName",), Inner)
    assert inside(Deep, "either") is None
    assert inside(Deep, "plain") == ListShape((), None)
    assert inside(Deep, "tuples") == ListShape(("key",), MapShape(None))
    assert inside(Deep, "unknown") is None
    assert inside(inside(Deep, "portList"), "x") is None
    assert inside(inside(AppSpec, "ports"), "x") is None
