"""The reference has every public name, and every attribute of the objects that states get."""

import inspect
import re
from pathlib import Path

import pytest

import myrmidon
import myrmidon.testing
from myrmidon import ExternalStatus, Model, Resource, Status, Unstructured

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
