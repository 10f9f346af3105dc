"""Rules that several kinds share."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.golang.numbers import read_int
from myrmidon.apiserver.refusals import names
from myrmidon.apiserver.refusals.causes import (
    IMMUTABLE,
    forbidden,
    invalid,
    not_supported,
    required,
)
from myrmidon.apiserver.refusals.failures import StatusCause

_PERCENT = re.compile(r"^[0-9]+%$")
_PORT_NAME = re.compile(r"^[a-z0-9-]+$")

NOT_A_PERCENTAGE = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
NO_PORT = "must be between 1 and 65535, inclusive"


def not_found(field: str, value: Any) -> StatusCause:
    """Return the cause for a reference to an object that does not exist."""
    return StatusCause(field, "FieldValueNotFound", f'Not found: "{value}"')


def non_negative(field: str, value: int | None) -> Iterator[StatusCause]:
    """Check a count: not below zero."""
    if value is not None and value < 0:
        yield invalid(field, value, "must be greater than or equal to 0")


def positive(field: str, value: int | None) -> Iterator[StatusCause]:
    """Check a count that must be above zero."""
    if value is not None and value < 1:
        yield invalid(field, value, "must be greater than 0")


def one_of(field: str, value: Any, known: Sequence[str]) -> Iterator[StatusCause]:
    """Check a field that must have one of the given values."""
    if not value:
        yield required(field)
    elif value not in known:
        yield not_supported(field, value, known)


def choice(field: str, value: Any, known: Sequence[str]) -> Iterator[StatusCause]:
    """Check a field that may be absent; an empty string counts as a value, and is refused."""
    if value is not None and value not in known:
        yield not_supported(field, value, known)


def only_one(field: str, given: Sequence[str], what: str) -> Iterator[StatusCause]:
    """Check an object of which exactly one field must be set; ``given`` are those that are."""
    if not given:
        yield required(field, f"must specify a {what}")
    for name in given[1:]:
        yield forbidden(f"{field}.{name}", f"may not specify more than 1 {what}")


def unchanged(field: str, new: Any, old: Any) -> Iterator[StatusCause]:
    """Check that an immutable field has its old value."""
    if new != old:
        yield invalid(field, new, IMMUTABLE)


def problems(field: str, value: str, found: Iterable[str]) -> Iterator[StatusCause]:
    """Yield a cause for each problem that a rule finds in a string."""
    for problem in found:
        yield invalid(field, value, problem)


def label(field: str, value: str) -> Iterator[StatusCause]:
    """Check a DNS label."""
    yield from problems(field, value, names.label_problems(value))


def subdomain(field: str, value: str) -> Iterator[StatusCause]:
    """Check a DNS subdomain, the form of most objects' names."""
    yield from problems(field, value, names.subdomain_problems(value))


def qualified(field: str, value: str) -> Iterator[StatusCause]:
    """Check a qualified name, such as the key of a label."""
    yield from problems(field, value, names.qualified_problems(value))


def labels(field: str, values: Mapping[str, str]) -> Iterator[StatusCause]:
    """Check the keys and values of labels."""
    for key, value in sorted(values.items()):
        yield from qualified(field, key)
        yield from problems(field, value, names.label_value_problems(value))


def annotations(field: str, values: Mapping[str, str]) -> Iterator[StatusCause]:
    """Check the keys of annotations."""
    for key in sorted(values):
        yield from problems(field, key, names.qualified_problems(key.lower()))


def port_number(field: str, value: int) -> Iterator[StatusCause]:
    """Check a port number."""
    if not 1 <= value <= 65535:
        yield invalid(field, value, NO_PORT)


def port_name(field: str, value: str) -> Iterator[StatusCause]:
    """Check the name of a port, an IANA service name."""
    if len(value) > 15:
        yield invalid(field, value, "must be no more than 15 characters")
    if not _PORT_NAME.match(value):
        yield invalid(
            field, value, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
        )
    if not re.search("[a-z]", value):
        yield invalid(field, value, "must contain at least one letter (a-z)")
    if "--" in value:
        yield invalid(field, value, "must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        yield invalid(field, value, "must not begin or end with a hyphen")


def port_number_or_name(field: str, value: int | str) -> Iterator[StatusCause]:
    """Check a port that is given by number or by name."""
    if isinstance(value, int):
        yield from port_number(field, value)
    else:
        yield from port_name(field, value)


def int_or_percent(field: str, value: int | str | None) -> Iterator[StatusCause]:
    """Check a count or a percentage, neither below zero."""
    if isinstance(value, int):
        yield from non_negative(field, value)
    elif value is not None and not _PERCENT.match(value):
        yield invalid(field, value, NOT_A_PERCENTAGE)


def percent_of(value: int | str | None) -> int:
    """Return the number in a count or percentage, 0 if it is absent."""
    if isinstance(value, int):
        return value
    return read_int(value[:-1]) if value and _PERCENT.match(value) else 0


def at_most_all(field: str, value: int | str | None) -> Iterator[StatusCause]:
    """Check that a percentage is at most 100%."""
    if isinstance(value, str) and percent_of(value) > 100:
        yield invalid(field, value, "must not be greater than 100%")


_LEADING_ZERO = re.compile(r"(0*(25[0-5]|2[0-4]\d|1?\d?\d)\.){3}0*(25[0-5]|2[0-4]\d|1?\d?\d)")


def address(field: str, value: str) -> Iterator[StatusCause]:
    """Check an IP address."""
    try:
        ip_address(value)
    except ValueError:
        if _LEADING_ZERO.fullmatch(value):
            yield invalid(field, value, "must not have leading 0s")
            return
        yield invalid(field, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")


def network(field: str, value: str) -> Iterator[StatusCause]:
    """Check a CIDR."""
    try:
        ip_network(value, strict=False)
    except ValueError:
        yield invalid(
            field, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
        )


_SELECTOR_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def label_selector(field: str, selector: Json) -> Iterator[StatusCause]:
    """Check a label selector."""
    yield from labels(f"{field}.matchLabels", selector.get("matchLabels", {}))
    for index, expression in enumerate(selector.get("matchExpressions", ())):
        yield from _expression(f"{field}.matchExpressions[{index}]", expression)


def _expression(field: str, expression: Json) -> Iterator[StatusCause]:
    operator, values = expression.get("operator", ""), expression.get("values") or []
    if operator in ("In", "NotIn") and not values:
        yield required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield StatusCause(
            f"{field}.values",
            "FieldValueForbidden",
            "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        )
    elif operator not in _SELECTOR_OPERATORS:
        yield invalid(f"{field}.operator", operator, "not a valid selector operator")
    yield from qualified(f"{field}.key", expression.get("key", ""))
    for index, value in enumerate(values):
        yield from problems(f"{field}.values[{index}]", value, names.label_value_problems(value))


def selects(selector: Json | None, labels_: Mapping[str, str]) -> bool:
    """Whether a label selector matches; an absent selector matches nothing."""
    if selector is None:
        return False
    if any(labels_.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    return all(
        _expression_matches(expression, labels_)
        for expression in selector.get("matchExpressions", ())
    )


def _expression_matches(expression: Json, labels_: Mapping[str, str]) -> bool:
    key, values = expression.get("key", ""), expression.get("values") or []
    match expression.get("operator"):
        case "In":
            return labels_.get(key) in values
        case "NotIn":
            return labels_.get(key) not in values
        case "Exists":
            return key in labels_
        case _:
            return key not in labels_


def is_empty_selector(selector: Json) -> bool:
    """Whether a selector has neither labels nor expressions."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")
