"""Standard labels: on every child, within the limits of label values."""

import re

from hypothesis import given
from hypothesis import strategies as st

from myrmidon.api.objects.accessors import labels_of
from myrmidon.sets import OutputSet
from myrmidon.sets.outputs.outputs import OutputDefaults
from myrmidon.sets.outputs.standard_labels import MANAGED_BY, PART_OF, label_value, standard_labels
from tests.sets.outputs import manifest
from tests.strategies import WIDGET

_VALID = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z")


@given(text=st.text(min_size=1, max_size=300) | st.from_regex(r"[a-z0-9.-]{1,253}", fullmatch=True))
def test_every_name_makes_a_valid_value(text: str) -> None:
    """A name that fits is kept as it is."""
    value = label_value(text)

    assert _VALID.match(value)
    assert value == text or not _VALID.match(text)


def test_long_names_that_begin_alike_have_different_values() -> None:
    """Each value ends with a hash of the full name."""
    assert label_value("a" * 70) != label_value("a" * 71)


def test_an_output_may_set_the_labels_itself() -> None:
    """The labels that the state declares take precedence."""
    labels = standard_labels("shops", "mine")
    out = OutputSet((WIDGET,), namespace="default", defaults=OutputDefaults(labels, False))
    out.apply(manifest({}, labels={PART_OF: "all", "x": "y"}))
    (output,) = out.applied()

    assert labels_of(output.manifest) == {MANAGED_BY: "shops", PART_OF: "all", "x": "y"}
