"""The names that ``myrmidon.api`` offers."""

import pytest

from myrmidon import api


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    """As for any other module; typed names are loaded on first use."""
    assert api.Resource.__name__ == "Resource"
    with pytest.raises(AttributeError, match="has no attribute 'Resourse'"):
        _ = api.Resourse
