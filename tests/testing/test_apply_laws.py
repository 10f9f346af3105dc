"""The laws of apply hold for good kinds, and a kind that breaks one of them is named."""

from itertools import count
from typing import Annotated, Any

import pytest
from pydantic import Field, field_serializer

from examples.cron_job.controller import ScheduledJob
from examples.web_app.controller import WebApp, WebAppSpec
from myrmidon import Model, Resource, Status
from myrmidon.api import Quantity
from myrmidon.api.typed.markers import ListMap
from myrmidon.testing.properties.apply_laws import (
    ApplyLawError,
    check_applied_object,
    check_apply_laws,
)

TICKS = count()


class Port(Model):
    """An item of a list map."""

    name: str = Field(pattern=r"^[a-z]{1,4}$")
    number: int = Field(default=80, gt=0, lt=65536)


class ShelfSpec(Model):
    """Defaults, a list map and quantities."""

    size: int = Field(default=1, ge=0)
    memory: Quantity | None = None
    ports: Annotated[list[Port], ListMap("name")] = Field(default_factory=list)
    notes: dict[str, str] = Field(default_factory=dict)


class Shelf(
    Resource[ShelfSpec, Status], group="laws.test.dev", version="v1", plural="shelves",
    namespaced=False,
):  # fmt: skip
    """A cluster-scoped kind."""


class TickingSpec(Model):
    """A field that is written differently each time."""

    at: str = "0"

    @field_serializer("at")
    def _tick(self, _at: str) -> str:
        return str(next(TICKS))


class Ticking(Resource[TickingSpec, Status], group="laws.test.dev", version="v1"):
    """A kind that never comes to rest."""


@pytest.mark.parametrize("resource", [WebApp, Shelf])
def test_the_laws_hold_for_good_kinds(resource: type[Resource[Any, Any]]) -> None:
    """With defaults, list maps and quantities, and for both scopes."""
    check_apply_laws(resource, max_examples=4)


def test_a_kind_with_a_template_can_be_applied() -> None:
    """Also if the schema keeps unknown fields."""
    job = {
        "apiVersion": ScheduledJob.KIND.api_version, "kind": "ScheduledJob",
        "metadata": {"name": "a"},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {}}}},
    }  # fmt: skip
    first = ScheduledJob.from_json(job)
    check_applied_object(first, first)


def test_a_kind_that_never_rests_is_named() -> None:
    """The message says which law, and what was written."""
    ticking = Ticking(name="a", spec=TickingSpec(at="x"))
    with pytest.raises(ApplyLawError, match=r"the law '(create|again)' .* Ticking") as found:
        check_applied_object(ticking, ticking)
    assert "object:" in str(found.value)


def test_an_object_that_is_refused_is_told() -> None:
    """Instead of an empty comparison."""
    bad = WebApp(name="a", spec=WebAppSpec.model_construct(image="a:1", replicas=-5, hosts=[]))
    with pytest.raises(ApplyLawError, match="replicas"):
        check_applied_object(bad, bad)
