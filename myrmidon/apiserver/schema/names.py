"""The rules for names, and what the server says about those that break them."""

import re
from collections.abc import Callable

Rule = Callable[[str], list[str]]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_LABEL_MAX, _SUBDOMAIN_MAX = 63, 253
_ENDS = "and must start and end with an alphanumeric character"
_KEY_TEXT = f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}"
_EMPTY = "must be non-empty"


def _broken(text: str, pattern: str, *examples: str) -> str:
    given = " or ".join(f"'{example}', " for example in examples).removesuffix(", ")
    return f"{text} (e.g. {given}, regex used for validation is '{pattern}')"


def _check(
    name: str, limit: int, pattern: str, text: str, *, unit: str = "characters"
) -> list[str]:
    found = [f"must be no more than {limit} {unit}"] if len(name.encode()) > limit else []
    if re.fullmatch(pattern, name) is None:
        found.append(text)
    return found


def dns_1035_label(name: str) -> list[str]:
    """A label that starts with a letter: plurals, versions, services of old."""
    text = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with "
        "an alphabetic character, and end with an alphanumeric character"
    )
    return _check(name, _LABEL_MAX, _LABEL_1035, _broken(text, _LABEL_1035, "my-name", "abc-123"))


def dns_1123_label(name: str) -> list[str]:
    """A label: namespaces."""
    text = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
        + _ENDS
    )
    complaint = _broken(text, _LABEL, "my-name", "123-abc")
    if re.fullmatch(_SUBDOMAIN, name):
        complaint = "must not contain dots"
    return _check(name, _LABEL_MAX, _LABEL, complaint)


def dns_1123_subdomain(name: str) -> list[str]:
    """Labels with dots between them: most names, groups."""
    text = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' "
        f"or '.', {_ENDS}"
    )
    return _check(name, _SUBDOMAIN_MAX, _SUBDOMAIN, _broken(text, _SUBDOMAIN, "example.com"))


def qualified_name(name: str) -> list[str]:
    """A key of labels and annotations: a name, perhaps after a domain and a slash."""
    complaint = _broken(_KEY_TEXT, _KEY, "MyName", "my.name", "123-abc")
    prefix, slash, rest = name.partition("/")
    if "/" in rest:
        domain = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {complaint} {domain}"]
    found: list[str] = []
    if slash:
        broken = dns_1123_subdomain(prefix) if prefix else [_EMPTY]
        found += [f"prefix part {text}" for text in broken]
    last = rest if slash else prefix
    if not last:
        found.append(f"name part {_EMPTY}")
    return found + [
        f"name part {text}" for text in _check(last, _LABEL_MAX, _KEY, complaint, unit="bytes")
    ]


def label_value(value: str) -> list[str]:
    """The value of a label."""
    text = (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' "
        f"or '.', {_ENDS}"
    )
    return _check(
        value,
        _LABEL_MAX,
        _VALUE,
        _broken(text, _VALUE, "MyValue", "my_value", "12345"),
        unit="bytes",
    )


def path_segment(name: str) -> list[str]:
    """What can be a part of a path."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in name]
