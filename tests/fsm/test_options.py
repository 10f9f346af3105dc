"""ControllerOptions that contradict each other or cannot be parsed."""

import pytest

from myrmidon.errors import DefinitionError
from myrmidon.fsm import ControllerOptions


def test_namespaces_by_name_and_by_label_are_refused_together() -> None:
    """It would be unclear which of them limits the other."""
    with pytest.raises(DefinitionError, match="fix: drop one"):
        ControllerOptions(namespaces=("a",), namespace_selector="a=b")


def test_a_selector_that_cannot_be_parsed_is_refused() -> None:
    """When the class is defined, not when the server refuses it."""
    with pytest.raises(DefinitionError, match=r"namespace_selector: unable to parse"):
        ControllerOptions(namespace_selector="=")
