"""Named formats: ``format.dns1123Label().validate(self)`` returns the errors, if there are any."""

import base64
import binascii
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from myrmidon.apiserver.cel.declarations import Overload, function, method
from myrmidon.apiserver.cel.functions.urls import uri_problem
from myrmidon.apiserver.cel.values import NONE, Opaque, OptionalValue, some
from myrmidon.apiserver.golang.times import is_date, is_date_time
from myrmidon.apiserver.refusals import names

Check = Callable[[str], list[str]]

_UUID = re.compile(
    "[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE
)


class NamedFormat(Opaque):
    """A named format and its check."""

    __slots__ = ("check", "name")
    type_name = "kubernetes.NamedFormat"

    def __init__(self, name: str, check: Check) -> None:
        self.name, self.check = name, check

    def same(self, other: Any) -> bool:  # noqa: D102 - see Opaque
        return bool(self.name == other.name)


def _prefix(check: Callable[..., list[str]]) -> Check:
    return partial(check, prefix=True)


def _uri(text: str) -> list[str]:
    problem = uri_problem(text)
    return [] if problem is None else [problem]


def _unless(good: Callable[[str], bool], complaint: str) -> Check:
    return lambda text: [] if good(text) else [complaint]


def _is_base64(text: str) -> bool:
    try:
        return bool(text) and base64.b64decode(text, validate=True) is not None
    except binascii.Error:
        return False


FORMATS = {
    key: NamedFormat(name, check)
    for key, name, check in (
        ("dns1123Label", "DNS1123Label", names.label_problems),
        ("dns1123Subdomain", "DNS1123Subdomain", names.subdomain_problems),
        ("dns1035Label", "DNS1035Label", names.label1035_problems),
        ("qualifiedName", "QualifiedName", names.qualified_problems),
        ("dns1123LabelPrefix", "DNS1123LabelPrefix", _prefix(names.label_problems)),
        ("dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", _prefix(names.subdomain_problems)),
        ("dns1035LabelPrefix", "DNS1035LabelPrefix", _prefix(names.label1035_problems)),
        ("labelValue", "LabelValue", names.label_value_problems),
        ("uri", "URI", _uri),
        (
            "uuid",
            "uuid",
            _unless(lambda t: _UUID.fullmatch(t) is not None, "does not match the UUID format"),
        ),
        ("byte", "byte", _unless(_is_base64, "invalid base64")),
        ("date", "date", _unless(is_date, "invalid date")),
        ("datetime", "datetime", _unless(is_date_time, "invalid datetime")),
    )
}


def _validate(named: NamedFormat, text: str) -> OptionalValue:
    problems = named.check(text)
    return some(problems) if problems else NONE


def _named(name: str) -> OptionalValue:
    return some(FORMATS[name]) if name in FORMATS else NONE


def _constant(key: str, named: NamedFormat) -> Overload:
    name = f"format.{key}"
    return function(name, f"{name}() -> {_F}", lambda: named)


_F = NamedFormat.type_name
OVERLOADS = (
    method("format-validate", f"validate({_F}, string) -> optional_type(list(string))", _validate),
    function("format-named", f"format.named(string) -> optional_type({_F})", _named),
    *(_constant(key, named) for key, named in FORMATS.items()),
)
