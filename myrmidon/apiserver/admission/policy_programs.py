"""The compiled expressions of a policy, and their evaluation for one write.

A policy is compiled once (``programs_of``, by its content).  An expression that does not compile is
kept as its error and fails when it is evaluated; policies are checked when they are written, so this
happens only to those that an earlier version of the server accepted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.admission.conditions import (
    MatchConditionError,
    conditions_hold,
    failed_text,
)
from myrmidon.apiserver.admission.policy_hooks import PolicyHook
from myrmidon.apiserver.admission.views import namespace_of, scope_of
from myrmidon.apiserver.cel import CelCostError, CelError
from myrmidon.apiserver.cel.admission_program import (
    BOOLEAN,
    OBJECT,
    PATCHES,
    POLICY_BUDGET,
    TEXT,
    TEXT_OR_NULL,
    AdmissionEnvironment,
    AdmissionProgram,
    ExpressionBudget,
    Variables,
    compile_admission,
)
from myrmidon.apiserver.cel.types import Type
from myrmidon.apiserver.golang import json as go_json
from myrmidon.apiserver.requests.call import PendingWrite

_POLICIES_MAX = 256


class PolicyError(ValueError):
    """An expression of a policy cannot be evaluated; the text is the real server's."""


@dataclass(frozen=True, slots=True)
class PolicyProgram:
    """An expression, compiled, or the error that prevents it."""

    text: str
    compiled: AdmissionProgram | CelError


@dataclass(frozen=True, slots=True)
class PolicyPrograms:
    """All expressions of a policy, in the order of its lists; None where there is no expression."""

    environment: AdmissionEnvironment
    validations: tuple[PolicyProgram, ...]
    messages: tuple[PolicyProgram | None, ...]
    annotations: tuple[PolicyProgram, ...]
    mutations: tuple[PolicyProgram, ...]


def programs_of(policy: Json) -> PolicyPrograms:
    """Return the compiled expressions of a policy."""
    return _compiled(go_json.encode(policy["spec"]))


@lru_cache(maxsize=_POLICIES_MAX)
def _compiled(text: bytes) -> PolicyPrograms:
    spec: Json = go_json.decode(text)
    environment = AdmissionEnvironment("paramKind" in spec, authorizer=True)
    for variable in spec.get("variables") or ():
        try:
            environment.add_variable(variable["name"], variable["expression"])
        except CelError:
            continue  # reported when it is read
    without = environment.with_parts(authorizer=False)
    patching = environment.with_parts(patches=True)
    validations = spec.get("validations") or ()
    return PolicyPrograms(
        environment,
        tuple(_program(each["expression"], BOOLEAN, environment) for each in validations),
        tuple(
            _program(each["messageExpression"], TEXT, without)
            if each.get("messageExpression")
            else None
            for each in validations
        ),
        tuple(
            _program(each["valueExpression"], TEXT_OR_NULL, environment)
            for each in spec.get("auditAnnotations") or ()
        ),
        tuple(_mutation(each, patching) for each in spec.get("mutations") or ()),
    )


def _mutation(mutation: Json, environment: AdmissionEnvironment) -> PolicyProgram:
    if mutation["patchType"] == "JSONPatch":
        return _program(mutation["jsonPatch"]["expression"], PATCHES, environment)
    return _program(mutation["applyConfiguration"]["expression"], OBJECT, environment)


def _program(
    text: str, wanted: tuple[Type, ...], environment: AdmissionEnvironment
) -> PolicyProgram:
    try:
        return PolicyProgram(text, compile_admission(text, wanted, environment))
    except CelError as error:
        return PolicyProgram(text, error)


class PolicyEvaluation:
    """The variables and the budget of a policy that is evaluated for one write."""

    def __init__(self, admission: PendingWrite, hook: PolicyHook, programs: PolicyPrograms) -> None:
        self._hook, self._programs = hook, programs
        self._budget = ExpressionBudget(POLICY_BUDGET)
        self._plain = scope_of(admission, hook.seen_as, params=hook.params)
        scope = {**self._plain, "namespaceObject": namespace_of(admission)}
        variables = Variables(programs.environment.compiled, scope, self._budget)
        self._scope: Mapping[str, Any] = {**scope, "variables": variables}

    def conditions_hold(self) -> bool:
        """Whether the match conditions hold; raise ``MatchConditionError``."""
        conditions = self._hook.policy["spec"].get("matchConditions")
        return not conditions or conditions_hold(
            conditions,
            self._plain,
            failure_policy=self._hook.failure_policy,
            params=self._programs.environment.params,
        )

    def evaluate(self, program: PolicyProgram) -> Any:
        """Return the value of an expression; raise ``PolicyError``."""
        if isinstance(program.compiled, CelError):
            raise PolicyError(failed_text(program.text, program.compiled))
        try:
            return program.compiled.evaluate(self._scope, self._budget)
        except CelCostError as error:
            spent = self._budget.left < 0
            raise PolicyError(str(error) if spent else failed_text(program.text, error)) from None
        except CelError as error:
            raise PolicyError(failed_text(program.text, error)) from None


__all__ = [
    "MatchConditionError", "PolicyError", "PolicyEvaluation", "PolicyProgram", "PolicyPrograms",
    "programs_of",
]  # fmt: skip
