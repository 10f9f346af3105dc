"""Arguments of ``Field`` that pydantic keeps without a meaning."""

import pytest
from pydantic import Field
from pydantic.fields import FieldInfo

from myrmidon.api import Model
from myrmidon.api.typed.field_arguments import check_field_arguments
from myrmidon.errors import DefinitionError


@pytest.mark.parametrize(
    ("given", "meant"),
    [("min_lenght", "min_length"), ("patern", "pattern"), ("maxLength", "max_length")],
)
def test_a_misspelled_rule_is_refused(given: str, meant: str) -> None:
    """With the name of the model, of the field and of the rule that was meant."""
    field = FieldInfo(annotation=str)
    field.json_schema_extra = {given: 1}
    with pytest.raises(DefinitionError, match=rf"(?s)Spec\.text .*{given}.*fix: write {meant}="):
        check_field_arguments("Spec", {"text": field})


def test_other_extra_keys_are_allowed() -> None:
    """They are for readers of the JSON schema of the class."""

    class Spec(Model):
        text: str = Field(default="", json_schema_extra={"example": "hello"})
        size: int = Field(default=1, json_schema_extra=lambda schema: None)

    assert Spec(text="a").to_wire() == {"text": "a"}
