"""Names, labels and annotations: what the server accepts, and what it says otherwise."""

import re

_LABEL_PART = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL_PART}(\.{_LABEL_PART})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_QUALIFIED})?"

_subdomain = re.compile(_SUBDOMAIN).fullmatch
_label = re.compile(_LABEL_PART).fullmatch
_label1035 = re.compile("[a-z]([-a-z0-9]*[a-z0-9])?").fullmatch
_qualified = re.compile(_QUALIFIED).fullmatch
_value = re.compile(_VALUE).fullmatch

SUBDOMAIN_MESSAGE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'example.com', regex used for "
    rf"validation is '{_LABEL_PART}(\.{_LABEL_PART})*')"
)
LABEL_MESSAGE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must "
    "start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
    f"validation is '{_LABEL_PART}')"
)
LABEL1035_MESSAGE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_QUALIFIED_EXAMPLES = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation "
    f"is '{_QUALIFIED}')"
)
_VALUE_MESSAGE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    f"'12345', regex used for validation is '({_QUALIFIED})?')"
)


def subdomain_problems(name: str, *, prefix: bool = False) -> list[str]:
    """Names of most objects."""
    name = _maskable(name) if prefix else name
    problems = [] if len(name) <= 253 else ["must be no more than 253 bytes"]
    if not _subdomain(name):
        problems.append(SUBDOMAIN_MESSAGE)
    return problems


def label_problems(name: str, *, prefix: bool = False) -> list[str]:
    """Names of namespaces and ports."""
    name = _maskable(name) if prefix else name
    problems = [] if len(name) <= 63 else ["must be no more than 63 bytes"]
    if not _label(name):
        problems.append(LABEL_MESSAGE)
    return problems


def label1035_problems(name: str, *, prefix: bool = False) -> list[str]:
    """Names that must start with a letter."""
    name = _maskable(name) if prefix else name
    problems = [] if len(name) <= 63 else ["must be no more than 63 bytes"]
    if not _label1035(name):
        problems.append(LABEL1035_MESSAGE)
    return problems


def path_segment_problems(name: str, *, prefix: bool = False) -> list[str]:
    """Names that need only fit into a path: RBAC objects."""
    if name in {".", ".."} and not prefix:
        return [f"may not be '{name}'"]
    return [f"may not contain '{sign}'" for sign in ("/", "%") if sign in name]


def _maskable(prefix: str) -> str:
    """A prefix may end with a dash, as letters will follow."""
    return f"{prefix[:-2]}a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def qualified_problems(name: str) -> list[str]:
    """Keys of labels and annotations, finalizers: ``prefix/name``."""
    parts = name.split("/")
    if len(parts) > 2:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_QUALIFIED_EXAMPLES} {optional}"]
    problems: list[str] = []
    if len(parts) == 2:
        if not parts[0]:
            problems.append("prefix part must be non-empty")
        else:
            problems += [f"prefix part {problem}" for problem in subdomain_problems(parts[0])]
    last = parts[-1]
    if not last:
        problems.append("name part must be non-empty")
    elif len(last) > 63:
        problems.append("name part must be no more than 63 bytes")
    if not _qualified(last):
        problems.append(f"name part {_QUALIFIED_EXAMPLES}")
    return problems


def label_value_problems(value: str) -> list[str]:
    """Values of labels."""
    problems = [] if len(value) <= 63 else ["must be no more than 63 bytes"]
    if not _value(value):
        problems.append(_VALUE_MESSAGE)
    return problems
