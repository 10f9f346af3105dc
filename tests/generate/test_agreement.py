"""Models and the embedded server agree; `tests/cluster/test_schemas.py` tests the real one."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from myrmidon.apiserver.schema.conforming import conform
from myrmidon.apiserver.schema.defaulting import default
from myrmidon.apiserver.schema.definitions import check_definition
from myrmidon.apiserver.schema.embedded import EmbeddedError
from myrmidon.apiserver.schema.structural import compile_schema
from myrmidon.apiserver.schema.validation import validate
from myrmidon.generate import crd, schema_of_model, schema_of_resource
from tests.generate.agreement import fits, paths, specs, stored
from tests.generate.shapes import RESOURCES
from tests.generate.webapp import WebApp

SCHEMAS: dict[str, Any] = {}


@pytest.mark.parametrize("shape", RESOURCES)
def test_definition_is_accepted(shape: str) -> None:
    """By the rules of the real server for definitions."""
    assert check_definition(crd(RESOURCES[shape])) == []


def test_definition_of_the_tutorial_is_accepted() -> None:
    """With columns, scale and selectable fields."""
    assert check_definition(crd(WebApp)) == []


@pytest.mark.parametrize("shape", RESOURCES)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_model_and_embedded_server_agree(shape: str, data: st.DataObject) -> None:
    """On valid or invalid, on defaults and on dropped fields.  Only the server evaluates rules."""
    resource = RESOURCES[shape]
    if shape not in SCHEMAS:
        SCHEMAS[shape] = compile_schema(schema_of_resource(resource))
    spec = data.draw(specs(resource.SPEC))
    obj = {
        "apiVersion": resource.KIND.api_version,
        "kind": resource.KIND.kind,
        "metadata": {"name": "a"},
        "spec": deepcopy(spec),
    }
    try:
        conform(obj, SCHEMAS[shape])
        default(obj, SCHEMAS[shape])
        problems = validate(obj, SCHEMAS[shape])
    except EmbeddedError as error:
        problems = [error]  # type: ignore[list-item]

    assert fits(resource, spec) == (not problems), problems
    if not problems:
        schema = schema_of_model(resource.SPEC)
        kept: Any = obj.get("spec", {})
        expected = stored(resource.SPEC.from_wire(spec), schema)
        read = stored(resource.SPEC.from_wire(kept), schema)
        assert read == expected
        assert set(paths(kept)) == set(paths(read))
