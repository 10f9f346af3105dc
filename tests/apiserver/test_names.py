"""Validation of names; the messages are those of a real server."""

import pytest

from myrmidon.apiserver.cel.functions.formats import FORMATS
from myrmidon.apiserver.refusals import names

DOTS = "must not contain dots"


@pytest.mark.parametrize(
    ("rule", "name", "wanted"),
    [
        pytest.param(names.label_problems, "a" * 63, [], id="a label of full length"),
        pytest.param(names.label_problems, "a" * 64, ["63 characters"], id="a long label"),
        pytest.param(names.label_problems, "a.b", [DOTS], id="a label with dots"),
        pytest.param(
            names.label_problems, "A.b", ["RFC 1123 label"], id="dots are the least of it"
        ),
        pytest.param(
            names.label_problems, "ü" * 40, ["63 characters", "RFC 1123 label"], id="bytes count"
        ),
        pytest.param(names.subdomain_problems, "a.b", [], id="a subdomain"),
        pytest.param(
            names.subdomain_problems, "a" * 254, ["253 characters"], id="a long subdomain"
        ),
        pytest.param(names.label1035_problems, "1", ["DNS-1035"], id="an old label with a digit"),
        pytest.param(names.label1035_problems, "a" * 64, ["63 characters"], id="a long old label"),
        pytest.param(
            names.qualified_problems,
            "a" * 254 + "/a",
            ["prefix part must be no more than 253 bytes"],
            id="a long domain of a key",
        ),
        pytest.param(
            names.qualified_problems,
            "a" * 64,
            ["name part must be no more than 63 bytes"],
            id="a long key",
        ),
        pytest.param(
            names.qualified_problems,
            "/",
            [
                "prefix part must be non-empty",
                "name part must be non-empty",
                "name part must consist",
            ],
            id="a slash alone",
        ),
        pytest.param(names.qualified_problems, "a/b/c", ["a valid label key"], id="two slashes"),
        pytest.param(names.label_value_problems, "", [], id="an empty value"),
        pytest.param(
            names.label_value_problems, "ü" * 40, ["63 bytes", "a valid label"], id="a long value"
        ),
        pytest.param(names.path_segment_problems, "..", ["may not be '..'"], id="a path upwards"),
    ],
)
def test_a_name_is_refused_in_the_words_of_the_real_server(
    rule: names.Rule, name: str, wanted: list[str]
) -> None:
    """One message for each problem, in this order."""
    said = rule(name)
    assert len(said) == len(wanted)
    assert all(part in text for part, text in zip(wanted, said, strict=True)), said


@pytest.mark.parametrize(
    "key", ["dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix"]
)
def test_a_prefix_may_end_with_a_dash(key: str) -> None:
    """Letters are appended to it; a dash alone is refused."""
    assert FORMATS[key].check("a-") == []
    assert FORMATS[key].check("-")
    assert FORMATS[key.removesuffix("Prefix")].check("a-")
