"""Match conditions: CEL expressions that decide whether a webhook or a policy looks at a write.

All conditions must hold.  One that is false decides, even if others fail.  If none is false and some
cannot be evaluated, the failure policy decides: ``Fail`` refuses the write with all errors, ``Ignore``
lets the webhook or policy skip it.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from myrmidon.api.objects.accessors import Json

if TYPE_CHECKING:
    from myrmidon.apiserver.cel.admission_program import AdmissionProgram

_COMPILED_MAX = 512


class MatchConditionError(ValueError):
    """The conditions cannot be evaluated, and the failure policy is ``Fail``."""


def aggregated(texts: Sequence[str]) -> str:
    """Return several error texts as Go prints them together: each once."""
    once = list(dict.fromkeys(texts))
    return once[0] if len(once) == 1 else f"[{', '.join(once)}]"


def conditions_hold(
    conditions: Sequence[Json],
    scope: Mapping[str, Any],
    *,
    failure_policy: str,
    params: bool = False,
) -> bool:
    """Whether all conditions hold; raise ``MatchConditionError`` if they fail and the policy says so."""
    from myrmidon.apiserver.cel import CelCostError, CelError  # noqa: PLC0415 - see views
    from myrmidon.apiserver.cel.admission_program import (  # noqa: PLC0415 - see views
        CONDITIONS_BUDGET,
        ExpressionBudget,
    )

    budget = ExpressionBudget(CONDITIONS_BUDGET)
    problems: list[str] = []
    results: list[Any] = []
    for condition in conditions:
        text = condition["expression"]
        try:
            results.append(_compiled(text, params=params).evaluate(scope, budget))
        except CelCostError as error:
            if budget.left < 0:
                problems, results = [str(error)], []
                break
            problems.append(failed_text(text, error))
        except CelError as error:
            problems.append(failed_text(text, error))
    if any(result is False for result in results):
        return False
    if problems and failure_policy != "Ignore":
        raise MatchConditionError(aggregated(problems))
    return not problems


def failed_text(expression: str, error: Exception) -> str:
    """Return the text for an expression that could not be compiled or evaluated."""
    from myrmidon.apiserver.cel import CelCompileError  # noqa: PLC0415 - see views

    if isinstance(error, CelCompileError):
        return f"compilation error: {error}"
    return f"expression '{expression}' resulted in error: {error}"


@lru_cache(maxsize=_COMPILED_MAX)
def _compiled(text: str, *, params: bool) -> "AdmissionProgram":
    from myrmidon.apiserver.cel.admission_program import (  # noqa: PLC0415 - see views
        BOOLEAN,
        AdmissionEnvironment,
        compile_admission,
    )

    return compile_admission(text, BOOLEAN, AdmissionEnvironment(params, authorizer=True))
