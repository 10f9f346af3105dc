"""Validation of the CEL expressions in webhook configurations and policies: match conditions.

``cel`` is imported with the first expression, because most servers never see one.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.validation.common import problems
from myrmidon.apiserver.refusals.causes import duplicate, internal, invalid, required, too_many
from myrmidon.apiserver.refusals.failures import StatusCause
from myrmidon.apiserver.refusals.names import qualified_problems

if TYPE_CHECKING:
    from myrmidon.apiserver.cel.admission_program import AdmissionEnvironment
    from myrmidon.apiserver.cel.types import Type

_CONDITIONS_MAX = 64


def check_conditions(
    field: str, conditions: Sequence[Json], *, params: bool
) -> Iterator[StatusCause]:
    """Check match conditions: their names and their expressions."""
    if not conditions:
        return
    from myrmidon.apiserver.cel.admission_program import (  # noqa: PLC0415 - see above
        BOOLEAN,
        AdmissionEnvironment,
    )

    if len(conditions) > _CONDITIONS_MAX:
        yield too_many(field, len(conditions), _CONDITIONS_MAX)
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        place = f"{field}[{index}]"
        expression = (condition.get("expression") or "").strip()
        environment = AdmissionEnvironment(params, authorizer=True)
        yield from check_expression(f"{place}.expression", expression, BOOLEAN, environment)
        name = condition.get("name") or ""
        if not name:
            yield required(f"{place}.name")
            continue
        yield from problems(f"{place}.name", name, qualified_problems(name))
        if name in names:
            yield duplicate(f"{place}.name", name)
        names.add(name)


def check_expression(
    field: str,
    expression: str,
    wanted: tuple["Type", ...],
    environment: "AdmissionEnvironment",
    *,
    missing: str = "",
) -> Iterator[StatusCause]:
    """Check that an expression compiles, and has one of the wanted types."""
    from myrmidon.apiserver.cel import CelCompileError  # noqa: PLC0415 - see above
    from myrmidon.apiserver.cel.admission_program import compile_admission  # noqa: PLC0415 - see above

    if not expression.strip():
        yield required(field, missing)
        return
    try:
        compile_admission(expression, wanted, environment)
    except CelCompileError as error:
        yield compile_cause(field, expression, error)


def compile_cause(field: str, expression: str, error: Exception) -> StatusCause:
    """Return the cause for an expression that does not compile."""
    text = str(error)
    if text.startswith("program instantiation failed"):
        return internal(field, text)
    return invalid(field, expression, text)
