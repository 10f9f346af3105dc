"""Named formats: ``format.dns1123Label().validate(self)`` gives the complaints, if there are any."""

import base64
import binascii
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from myrmidon.apiserver.cel.declarations import Overload, function, method
from myrmidon.apiserver.cel.functions.urls import uri_problem
from myrmidon.apiserver.cel.values import NONE, Opaque, OptionalValue, some

Check = Callable[[str], list[str]]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_OLD_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_UUID = re.compile(
    "[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE
)
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
    "start and end with an alphanumeric character"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_OLD_LABEL_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character"
)
_NAME_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)


class NamedFormat(Opaque):
    """A format and its check."""

    __slots__ = ("check", "name")
    type_name = "kubernetes.NamedFormat"

    def __init__(self, name: str, check: Check) -> None:
        self.name, self.check = name, check

    def same(self, other: Any) -> bool:  # noqa: D102 - see Opaque
        return bool(self.name == other.name)


def _explained(text: str, pattern: str, *examples: str) -> str:
    shown = ",  or ".join(f"'{example}'" for example in examples)
    return f"{text} (e.g. {shown}, regex used for validation is '{pattern}')"


def _too_long(text: str, most: int, unit: str = "bytes") -> list[str]:
    too_long = len(text.encode()) > most
    return [f"must be no more than {most} {unit}"] if too_long else []


def _label(text: str) -> list[str]:
    found = _too_long(text, 63)
    if not re.fullmatch(_LABEL, text):
        dotted = re.fullmatch(_SUBDOMAIN, text) is not None
        explained = _explained(_LABEL_TEXT, _LABEL, "my-name", "123-abc")
        found.append("must not contain dots" if dotted else explained)
    return found


def _subdomain(text: str) -> list[str]:
    found = _too_long(text, 253)
    if not re.fullmatch(_SUBDOMAIN, text):
        found.append(_explained(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return found


def _old_label(text: str) -> list[str]:
    found = _too_long(text, 63, "characters")
    if not re.fullmatch(_OLD_LABEL, text):
        found.append(_explained(_OLD_LABEL_TEXT, _OLD_LABEL, "my-name", "abc-123"))
    return found


def _qualified_name(text: str) -> list[str]:
    parts = text.split("/")
    explained = _explained(_NAME_TEXT, _NAME, "MyName", "my.name", "123-abc")
    if len(parts) > 2:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {explained} {optional}"]
    found = []
    if len(parts) == 2:
        problems = _subdomain(parts[0]) if parts[0] else ["must be non-empty"]
        found += [f"prefix part {problem}" for problem in problems]
    name = parts[-1]
    problems = _too_long(name, 63) if name else ["must be non-empty"]
    if not re.fullmatch(_NAME, name):
        problems.append(explained)
    return found + [f"name part {problem}" for problem in problems]


def _label_value(text: str) -> list[str]:
    found = _too_long(text, 63)
    if not re.fullmatch(f"({_NAME})?", text):
        found.append(_explained(_VALUE_TEXT, f"({_NAME})?", "MyValue", "my_value", "12345"))
    return found


def _prefix(check: Check) -> Check:
    """The start of a generated name may end with a dash."""

    def checked(text: str) -> list[str]:
        return check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)

    return checked


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


def _is_date(text: str) -> bool:
    if not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        return datetime.fromisoformat(text) is not None
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    date, *rest = text.lower().split("t")
    found = _TIME.fullmatch(rest[0]) if rest and _is_date(date) else None
    if found is None:
        return False
    hours, minutes, seconds = found.groups()[:3]
    return hours <= "23" and minutes <= "59" and seconds <= "59"


FORMATS = {
    key: NamedFormat(name, check)
    for key, name, check in (
        ("dns1123Label", "DNS1123Label", _label),
        ("dns1123Subdomain", "DNS1123Subdomain", _subdomain),
        ("dns1035Label", "DNS1035Label", _old_label),
        ("qualifiedName", "QualifiedName", _qualified_name),
        ("dns1123LabelPrefix", "DNS1123LabelPrefix", _prefix(_label)),
        ("dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", _prefix(_subdomain)),
        ("dns1035LabelPrefix", "DNS1035LabelPrefix", _prefix(_old_label)),
        ("labelValue", "LabelValue", _label_value),
        ("uri", "URI", _uri),
        (
            "uuid",
            "uuid",
            _unless(lambda t: _UUID.fullmatch(t) is not None, "does not match the UUID format"),
        ),
        ("byte", "byte", _unless(_is_base64, "invalid base64")),
        ("date", "date", _unless(_is_date, "invalid date")),
        ("datetime", "datetime", _unless(_is_date_time, "invalid datetime")),
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
