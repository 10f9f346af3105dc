"""Differences between objects, for people."""

import subprocess
import sys

from hypothesis import example, given

from myrmidon.api.objects.accessors import Json
from myrmidon.api.values.equality import same
from myrmidon.patch import difference
from tests.strategies import documents


def test_one_line_per_change_in_the_order_of_paths() -> None:
    """Added, removed and changed, each with its path."""
    before: Json = {
        "spec": {"replicas": 1, "ports": [{"port": 80}], "type": "a", "old": 1},
        "metadata": {"labels": {"example.com/x": "1", "it's": "2"}},
    }
    after: Json = {
        "spec": {"replicas": 3, "ports": [{"port": 80}, {"port": 443}], "type": {"b": 1}},
        "metadata": {"labels": {"example.com/x": "2", "it's": "3"}},
    }

    assert difference(before, after) == [
        "~ metadata.labels.it's: '2' -> '3'",
        "~ metadata.labels[example.com/x]: '1' -> '2'",
        "- spec.old: 1",
        "+ spec.ports[1]: {'port': 443}",
        "~ spec.replicas: 1 -> 3",
        "~ spec.type: 'a' -> {'b': 1}",
    ]


def test_a_created_or_deleted_object_is_shown_whole() -> None:
    """A missing object is treated as an empty one."""
    assert difference(None, {"a": 1}) == ["+ a: 1"]
    assert difference({"a": [1, 2]}, None) == ["- a: [1, 2]"]
    assert difference({"a": [1, 2]}, {"a": [1]}) == ["- a[1]: 2"]


def test_long_values_are_cut() -> None:
    """So that lines stay readable."""
    (line,) = difference({}, {"a": "x" * 500})

    assert line.endswith("xxx...")
    assert len(line) < 130


@given(before=documents(), after=documents())
@example(before={"a": True}, after={"a": 1})
@example(before={"a": [1.0]}, after={"a": [1]})
@example(before={"a": [True]}, after={"a": [1]})
def test_a5_there_is_a_line_exactly_where_documents_differ(before: Json, after: Json) -> None:
    """It agrees with the comparison that decides."""
    assert (difference(before, after) == []) == same(before, after)


def test_deepdiff_is_not_imported_before_it_is_used() -> None:
    """One import costs more than a thousand passes."""
    check = "import sys, myrmidon.patch; sys.exit('deepdiff' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0
