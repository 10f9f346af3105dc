"""The naming rules for objects, labels, annotations and finalizers, with the server's messages.

Each function returns the list of problems, empty for a valid name.  All limits count bytes.  The
messages say characters for object names and bytes for the parts of label keys and values, because
they come from different packages of the real server.
"""

import re
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

Rule = Callable[[str], list[str]]
Match = Callable[[str], object]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_KEY})?"
_LABEL_MAX, _SUBDOMAIN_MAX = 63, 253

_is_label = re.compile(_LABEL).fullmatch
_is_label1035 = re.compile(_LABEL_1035).fullmatch
_is_subdomain = re.compile(_SUBDOMAIN).fullmatch
_is_key = re.compile(_KEY).fullmatch
_is_value = re.compile(_VALUE).fullmatch

_ENDS = "and must start and end with an alphanumeric character"
_LABEL_TEXT = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS} "
    f"(e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    f"regex used for validation is '{_LABEL_1035}')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    f"{_ENDS} (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_KEY_TEXT = (
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS} "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_KEY}')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    f"{_ENDS} (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)


def _problems(text: str, limit: int, unit: str, matches: Match, complaint: str) -> list[str]:
    found = [f"must be no more than {limit} {unit}"] if len(text.encode()) > limit else []
    if not matches(text):
        found.append(complaint)
    return found


def subdomain_problems(name: str, *, prefix: bool = False, unit: str = "characters") -> list[str]:
    """Return the problems of a DNS subdomain: the names of most objects, and API groups."""
    name = _without_final_dash(name) if prefix else name
    return _problems(name, _SUBDOMAIN_MAX, unit, _is_subdomain, _SUBDOMAIN_TEXT)


def label_problems(name: str, *, prefix: bool = False) -> list[str]:
    """Return the problems of an RFC 1123 label: the names of namespaces, containers and volumes."""
    name = _without_final_dash(name) if prefix else name
    complaint = "must not contain dots" if _is_subdomain(name) else _LABEL_TEXT
    return _problems(name, _LABEL_MAX, "characters", _is_label, complaint)


def label1035_problems(name: str, *, prefix: bool = False) -> list[str]:
    """Return the problems of a label that must start with a letter: plurals and versions."""
    name = _without_final_dash(name) if prefix else name
    return _problems(name, _LABEL_MAX, "characters", _is_label1035, _LABEL_1035_TEXT)


def path_segment_problems(name: str, *, prefix: bool = False) -> list[str]:
    """Return the problems of a name that only has to fit into a URL path (RBAC objects)."""
    if name in {".", ".."} and not prefix:
        return [f"may not be '{name}'"]
    return [f"may not contain '{sign}'" for sign in ("/", "%") if sign in name]


def _without_final_dash(prefix: str) -> str:
    """Return a generateName prefix with a final dash replaced: random letters will follow it."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def qualified_problems(name: str) -> list[str]:
    """Return the problems of a qualified name: keys of labels and annotations, and finalizers.

    A qualified name is a name, optionally with a DNS subdomain and a slash in front.
    """
    domain, slash, rest = name.partition("/")
    if "/" in rest:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_KEY_TEXT} {optional}"]
    found: list[str] = []
    if slash and not domain:
        found.append("prefix part must be non-empty")
    elif slash:
        found += [f"prefix part {text}" for text in subdomain_problems(domain, unit="bytes")]
    last = rest if slash else domain
    if not last:
        found.append("name part must be non-empty")
    broken = _problems(last, _LABEL_MAX, "bytes", _is_key, _KEY_TEXT)
    return found + [f"name part {text}" for text in broken]


def label_value_problems(value: str) -> list[str]:
    """Return the problems of a label value."""
    return _problems(value, _LABEL_MAX, "bytes", _is_value, _VALUE_TEXT)


def address_problems(name: str) -> list[str]:
    """Return the problems of a name that is an IP address in canonical form."""
    try:
        address = ip_address(name)
    except ValueError:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return ["must not be an IPv4-mapped IPv6 address"]
    return [] if str(address) == name else [f'must be in canonical form ("{address}")']
