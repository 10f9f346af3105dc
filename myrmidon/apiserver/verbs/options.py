"""The query options of writes: dryRun, fieldManager, fieldValidation."""

import re
from collections.abc import Iterable

from myrmidon.apiserver.golang.numbers import read_int
from myrmidon.apiserver.refusals.causes import invalid, not_supported, too_long
from myrmidon.apiserver.refusals.failures import Failure, StatusCause, bad_request, invalid_object
from myrmidon.apiserver.requests.call import Call

FIELD_MANAGER_MAX = 128
_VALIDATIONS = ("Ignore", "Warn", "Strict")


def options_failure(kind: str, causes: Iterable[StatusCause]) -> Failure:
    """Return the 422 for invalid options."""
    return invalid_object(kind, "meta.k8s.io", "", causes)


def read_write_options(call: Call, kind: str) -> None:
    """Read the options of a write into the call; ``kind`` names them in the 422."""
    query = call.query
    causes: list[StatusCause] = []
    dry_run = [value for key, value in call.request.query if key == "dryRun"]
    causes += dry_run_causes(dry_run)
    call.field_manager = query.get("fieldManager", "")
    causes += _field_manager_causes(call.field_manager)
    validation = query.get("fieldValidation", "")
    if validation and validation not in _VALIDATIONS:
        causes.append(not_supported("fieldValidation", validation, sorted(("", *_VALIDATIONS))))
    if causes:
        raise options_failure(kind, causes)
    call.dry_run = bool(dry_run)
    call.field_validation = validation or "Warn"


def dry_run_causes(values: list[str]) -> list[StatusCause]:
    """Return the problems of the dryRun values: only ``All`` is supported."""
    if all(value == "All" for value in values):
        return []
    return [not_supported("dryRun", values, ["All"])]


def _field_manager_causes(manager: str) -> list[StatusCause]:
    causes = (
        [too_long("fieldManager", FIELD_MANAGER_MAX)] if len(manager) > FIELD_MANAGER_MAX else []
    )
    for index, letter in enumerate(manager):
        if not letter.isprintable():
            causes.append(
                invalid(
                    "fieldManager",
                    manager,
                    f"invalid character U+{ord(letter):04X} (at position {index})",
                )
            )
            break
    return causes


def parse_int(query: dict[str, str], name: str) -> int | None:
    """Return an integer of the query, None if it is missing; raise a 400 if it is malformed."""
    text = query.get(name)
    if text is None:
        return None
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    if not -(2**63) <= read_int(text) < 2**63:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return read_int(text)
