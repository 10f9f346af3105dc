"""Objects and edits from a schema: valid, deterministic, and one for each field."""

from enum import StrEnum
from typing import Annotated, Any

import pytest
from pydantic import Field

from examples.cron_job.controller import ScheduledJob
from examples.web_app.controller import WebApp
from myrmidon import Model, Resource, Status
from myrmidon.api import Duration
from myrmidon.errors import UsageError
from myrmidon.testing.campaigns.schema_changes import changed_fields, smallest_spec


class Policy(StrEnum):
    """An enum."""

    KEEP = "Keep"
    DROP = "Drop"


class Part(Model):
    """A nested model."""

    name: str = Field(min_length=2)
    weight: float = 0.5


class WideSpec(Model):
    """One field of each kind."""

    image: str = Field(pattern=r"^[a-z]+:\d+$")
    count: int = Field(ge=3, le=9, multiple_of=3)
    policy: Policy
    on: bool = False
    every: Duration | None = None
    parts: list[Part] = Field(default_factory=list)
    notes: dict[str, str] = Field(default_factory=dict)
    first: Part | None = None


class Wide(Resource[WideSpec, Status], group="changes.myrmidon.dev", version="v1"):
    """A kind with one field of each type."""


class OddSpec(Model):
    """A field whose pattern no candidate matches."""

    code: Annotated[str, Field(pattern=r"^Z{7}\d{9}$")]


class Odd(Resource[OddSpec, Status], group="changes.myrmidon.dev", version="v1"):
    """A kind that cannot be made from its schema."""


SAMPLE = {"image": "shop:1", "count": 9, "policy": "Drop", "first": {"name": "ab"}}


def test_the_smallest_spec_has_the_required_fields() -> None:
    """Each with its smallest valid value."""
    assert smallest_spec(Wide) == {"image": "a:1", "count": 3, "policy": "Keep"}


def test_each_field_is_changed_near_its_value() -> None:
    """Numbers in texts are counted up, bounds are kept, enums take their next value."""
    found = {path: changes[0] for path, changes in changed_fields(Wide, SAMPLE)}
    assert found["image"] == {"image": "shop:2"}
    assert found["count"] == {"count": 6}
    assert found["policy"] == {"policy": "Keep"}
    assert found["on"] == {"on": True}
    assert found["parts"] == {"parts": [{"name": "aa"}]}
    assert found["notes"] == {"notes": {"added": "a"}}
    assert found["first.name"] == {"first": {"name": "ab2"}}
    assert found["first.weight"] == {"first": {"weight": 1.5}}
    assert set(found) == {
        "image", "count", "policy", "on", "every", "parts", "notes", "first.name", "first.weight",
    }  # fmt: skip


def test_a_schema_without_a_candidate() -> None:
    """Says that a sample is needed; and a field without a change is yielded as such."""
    with pytest.raises(UsageError, match="name a YAML file with a sample"):
        smallest_spec(Odd)
    assert list(changed_fields(Odd, {"code": "ZZZZZZZ999999999"})) == [("code", [])]
    found = dict(changed_fields(Odd, {"code": "ZZZZZZZ100000000"}))
    assert found == {"code": [{"code": "ZZZZZZZ100000001"}]}


@pytest.mark.parametrize("resource", [WebApp, ScheduledJob])
def test_the_kinds_of_the_examples(resource: type[Resource[Any, Any]]) -> None:
    """A spec can be made, and most fields can be changed."""
    spec = smallest_spec(resource)
    found = list(changed_fields(resource, spec))
    assert len([change for _, change in found if change]) >= len(found) - 1
