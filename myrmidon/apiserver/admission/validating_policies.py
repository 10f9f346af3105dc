"""ValidatingAdmissionPolicies: rules in CEL about any write, without a webhook.

Every validation of every policy that matches (``policy_hooks``) is evaluated; the actions of the
binding say what a violation does.  ``Deny`` refuses the write with the first violation, ``Warn`` adds a
warning to the response.  ``Audit`` has no effect, because this server writes no audit log, but
expressions of audit annotations are evaluated: one that fails refuses the write, as on the real server.

``policy_programs`` is imported with the first policy: most servers never see one, and the import of
``cel`` would add to the start-up time of all of them.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.admission.policy_hooks import PolicyHook, policy_hooks
from myrmidon.apiserver.refusals.failures import Failure, StatusCause
from myrmidon.apiserver.requests.call import PendingWrite

if TYPE_CHECKING:
    from myrmidon.apiserver.admission.policy_programs import (
        PolicyEvaluation,
        PolicyProgram,
        PolicyPrograms,
    )

_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
_INVALID, _INVALID_CODE = "Invalid", 422
_MESSAGE_BYTES_MAX = 5 * 1024


class _Violation(NamedTuple):
    """What a policy has against the write; ``always``: whatever the binding says."""

    hook: PolicyHook
    message: str
    reason: str = _INVALID
    always: bool = False


class ValidatingPolicies:
    """The admission step of the ValidatingAdmissionPolicies in the store."""

    def admit(self, admission: PendingWrite) -> Json | None:  # noqa: ARG002 - this step only checks
        """Leave the object as it is."""
        return None

    def check(self, admission: PendingWrite) -> None:
        """Refuse the write, or warn, as the policies say."""
        denied: _Violation | None = None
        for hook in policy_hooks(admission, "validating"):
            for violation in _violations(admission, hook):
                binding = violation.hook.binding
                actions = [] if binding is None else binding["spec"].get("validationActions") or []
                if violation.always or "Deny" in actions:
                    denied = denied or violation
                if "Warn" in actions and not violation.always:
                    admission.call.warn(_warning(violation))
        if denied is not None:
            raise _denial(admission, denied)


def _warning(violation: _Violation) -> str:
    policy, binding = violation.hook.policy["metadata"]["name"], violation.hook.binding
    assert binding is not None, "only bindings warn"
    return (
        f"Validation failed for ValidatingAdmissionPolicy '{policy}' with binding "
        f"'{binding['metadata']['name']}': {violation.message}"
    )


def _denial(admission: PendingWrite, violation: _Violation) -> Failure:
    policy, binding = violation.hook.policy["metadata"]["name"], violation.hook.binding
    said = f"ValidatingAdmissionPolicy '{policy}'"
    if binding is not None:
        said = f"{said} with binding '{binding['metadata']['name']}'"
    text = f"{said} denied request: {violation.message}"
    failure = admission.forbidden(text, [StatusCause("", "", text)])
    failure.reason = violation.reason
    failure.code = _CODES.get(violation.reason, _INVALID_CODE)
    return failure


def _violations(admission: PendingWrite, hook: PolicyHook) -> Iterator[_Violation]:
    """Yield the violations of one policy, with one binding and one parameter."""
    from myrmidon.apiserver.admission.policy_programs import (  # noqa: PLC0415 - see above
        MatchConditionError,
        PolicyError,
        PolicyEvaluation,
        programs_of,
    )

    fails = hook.failure_policy != "Ignore"
    if hook.problem:
        if fails:
            yield _Violation(hook, hook.problem, always=True)
        return
    programs = programs_of(hook.policy)
    evaluation = PolicyEvaluation(admission, hook, programs)
    try:
        if not evaluation.conditions_hold():
            return
    except MatchConditionError as error:
        yield _Violation(hook, str(error))
        return
    validations = hook.policy["spec"].get("validations") or ()
    for index, program in enumerate(programs.validations):
        try:
            holds = evaluation.evaluate(program) is True
        except PolicyError as error:
            if fails:
                yield _Violation(hook, str(error))
            continue
        if not holds:
            validation = validations[index]
            message = _message(validation, programs.messages[index], evaluation)
            yield _Violation(hook, message, validation.get("reason") or _INVALID)
    if fails:
        yield from _annotation_problems(hook, programs, evaluation)


def _annotation_problems(
    hook: PolicyHook, programs: "PolicyPrograms", evaluation: "PolicyEvaluation"
) -> Iterator[_Violation]:
    from myrmidon.apiserver.admission.policy_programs import PolicyError  # noqa: PLC0415 - see above

    for program in programs.annotations:
        try:
            evaluation.evaluate(program)
        except PolicyError as error:
            yield _Violation(hook, str(error), always=True)


def _message(
    validation: Json, program: "PolicyProgram | None", evaluation: "PolicyEvaluation"
) -> str:
    """Return the message of a violation: of its expression, its text, or the rule itself."""
    from myrmidon.apiserver.admission.policy_programs import PolicyError  # noqa: PLC0415 - see above

    said: Any = None
    if program is not None:
        try:
            said = evaluation.evaluate(program)
        except PolicyError:
            said = None  # the next best message is used
    text = said.strip() if isinstance(said, str) else ""
    if text and "\n" not in text and len(text.encode()) <= _MESSAGE_BYTES_MAX:
        return text
    fallback: str = (validation.get("message") or "").strip()
    return fallback or f"failed expression: {validation['expression'].strip()}"
