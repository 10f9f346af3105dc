"""The reference has every public name, and every attribute of the objects that states get."""

import inspect
import re
from pathlib import Path
from typing import get_args

import pytest

import myrmidon
import myrmidon.testing
from myrmidon import Cause, ExternalStatus, Kind, Model, Resource, Status, Unstructured, kinds
from myrmidon.api import Immutable
from myrmidon.api.typed import markers, scalars
from myrmidon.apiserver.actors import cluster_actors
from myrmidon.fsm.context import Relation

REFERENCE = Path(__file__).parents[2] / "docs/reference"
PAGES = {page.name: page.read_text() for page in sorted(REFERENCE.glob("*.md"))}
_ENTRY = re.compile(r"^\.\. (?:auto(?!module)\w+|py:data):: (\S+)$", re.MULTILINE)
_ROW = re.compile(r"^\| ((?:`[^`]+`(?:, )?)+) \|", re.MULTILINE)


class Thing(Resource[Model, Status], group="example.com", version="v1"):
    """A resource without fields of its own."""


@pytest.mark.parametrize("package", [myrmidon, myrmidon.testing], ids=lambda one: one.__name__)
def test_every_public_name_has_an_entry(package: object) -> None:
    """Exactly one, and no entry is for a name that is not public."""
    home, names = package.__name__, package.__all__  # type: ignore[attr-defined]
    entries = [name for page in PAGES.values() for name in _ENTRY.findall(page)]
    here = [name.removeprefix(f"{home}.") for name in entries if name.rpartition(".")[0] == home]

    assert sorted(here) == sorted(set(names) - {"kinds"})  # a module


def test_every_attribute_of_a_resource_is_in_the_table() -> None:
    """And the table has no other."""
    section = PAGES["typed-resources.md"].partition("## Attributes")[2].partition("\n## ")[0]
    cells = ",".join(_ROW.findall(section))
    listed = re.findall(r"`(\w+)(?:\([a-z]*\))?`", cells)

    assert sorted(listed) == sorted(name for name in dir(Thing) if not name.startswith("_"))


def test_the_table_says_which_attributes_can_be_set() -> None:
    """A property without a setter cannot."""
    section = PAGES["typed-resources.md"].partition("## Attributes")[2].partition("\n## ")[0]
    said = dict(re.findall(r"^\| `(\w+)` \|.*\| (yes|no)\b[^|]*\|$", section, re.MULTILINE))
    properties = {
        name: "yes" if member.fset else "no"
        for name, member in inspect.getmembers(Thing)
        if isinstance(member, property)
    }

    assert said == properties


def test_the_fields_of_a_status_are_named() -> None:
    """Those that the framework writes."""
    section = PAGES["typed-resources.md"].partition("## Attributes")[2].partition("\n## ")[0]

    for name in (*ExternalStatus.model_fields, Unstructured.__name__):
        assert f"`{name}`" in section


def test_every_built_in_kind_is_in_the_table() -> None:
    """In the row of its apiVersion and the column of its scope."""
    table = PAGES["kinds.md"].partition("## Built-in kinds")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (.*) \| (.*) \|$", table, re.MULTILINE)
    listed = {
        (version, name, namespaced)
        for version, *cells in rows
        for namespaced, cell in zip((True, False), cells, strict=True)
        for name in re.findall(r"`(\w+)`", cell)
    }

    assert listed == {
        (kind.api_version, name, kind.namespaced)
        for name, kind in vars(kinds).items()
        if isinstance(kind, Kind)
    }


def test_every_cause_is_explained() -> None:
    """Each relation, and each field of a Cause."""
    section = PAGES["causes-and-conditions.md"].partition("## Causes")[2].partition("\n## ")[0]

    assert sorted(_ROW.findall(section)) == sorted(
        f"`{name}`" for name in (*Cause._fields, *get_args(Relation))
    )


def test_every_actor_of_the_harness_is_listed() -> None:
    """Those that it starts by default, in that order."""
    section = PAGES["test-harness.md"].partition("## Actors")[2].partition("\n## ")[0]
    listed = re.findall(r"`(\w+)`", ",".join(_ROW.findall(section)))

    assert listed == [type(actor).__name__ for actor in cluster_actors()]


def test_every_type_of_a_field_is_listed() -> None:
    """The values and the markers; columns and the scale subresource concern a resource."""
    listed = set(re.findall(r"`(\w+)[(`]", ",".join(_ROW.findall(PAGES["field-types.md"]))))
    values = {"Base64", "Duration", "IntOrString", "Quantity"}
    marks = {
        name
        for name, one in vars(markers).items()
        if getattr(one, "__module__", "") == markers.__name__
    } | {Immutable.__name__}

    assert values <= set(vars(scalars))
    assert listed == values | {name for name in marks if name[0].isupper()} - {"Column", "Scale"}
