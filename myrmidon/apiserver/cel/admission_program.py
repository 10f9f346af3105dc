"""Compile and run the expressions of admission: match conditions, policies and mutations.

They differ from validation rules in their variables: instead of ``self`` there are ``object``,
``oldObject``, ``request``, ``namespaceObject`` and, where they are declared, ``params``,
``authorizer`` and ``variables``.  Their values are plain JSON, without a schema.  ``variables`` are
expressions themselves: each is evaluated when it is first read, at most once per policy and object.

The cost is always counted, since there is no estimate for values without a schema.  All expressions of
a policy share one ``ExpressionBudget``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from myrmidon.apiserver.cel.admission_types import (
    PATCH_TYPE,
    VARIABLE_TYPES,
    VARIABLES_TYPE,
    ObjectTypes,
)
from myrmidon.apiserver.cel.errors import (
    CelCompileError,
    CelCostError,
    CelError,
    CelEvaluationError,
    Issue,
    render,
)
from myrmidon.apiserver.cel.evaluator import InstantiationError
from myrmidon.apiserver.cel.logic import Run
from myrmidon.apiserver.cel.macros import expand
from myrmidon.apiserver.cel.metering import Meter
from myrmidon.apiserver.cel.parser import TOO_DEEP, parse
from myrmidon.apiserver.cel.patch_values import AdmissionEvaluator, check_admission
from myrmidon.apiserver.cel.types import BOOL, DYN, NULL, STRING, Type, list_of, struct
from myrmidon.apiserver.cel.validators import validate
from myrmidon.apiserver.cel.values import FAILURES, Value, evaluation_error
from myrmidon.apiserver.golang.text import quote

CONDITIONS_BUDGET, POLICY_BUDGET = 2_500_000, 10_000_000
_OUT_OF_BUDGET = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
_FIRST_SLOT = 2  # the evaluator reserves 0 and 1 for the variables of validation rules

BOOLEAN, TEXT, TEXT_OR_NULL = (BOOL,), (STRING,), (STRING, NULL)
OBJECT, PATCHES = (struct("Object"),), (list_of(struct(PATCH_TYPE)),)
ANY: tuple[Type, ...] = ()


@dataclass(slots=True)
class AdmissionEnvironment:
    """Which variables an expression may use, besides the object, the request and the namespace."""

    params: bool = False
    authorizer: bool = False
    patches: bool = False
    variables: dict[str, Type] | None = None  # None: the name ``variables`` is not declared
    compiled: dict[str, "AdmissionProgram | CelError"] = field(default_factory=dict)

    def names(self) -> dict[str, Type]:
        """Return the types of all variables."""
        hidden = set() if self.params else {"params"}
        if not self.authorizer:
            hidden |= {"authorizer", "authorizer.requestResource"}
        found = {name: each for name, each in VARIABLE_TYPES.items() if name not in hidden}
        return found if self.variables is None else found | {"variables": struct(VARIABLES_TYPE)}

    def with_parts(
        self, *, authorizer: bool | None = None, patches: bool = False
    ) -> "AdmissionEnvironment":
        """Return the environment of another kind of expression of the same policy."""
        wanted = self.authorizer if authorizer is None else authorizer
        return AdmissionEnvironment(self.params, wanted, patches, self.variables, self.compiled)

    def add_variable(self, name: str, text: str) -> None:
        """Compile a variable and declare it for the expressions after it; raise if it does not compile."""
        if self.variables is None:
            self.variables = {}
        try:
            program = compile_admission(text, ANY, self)
        except CelError as error:
            self.variables[name], self.compiled[name] = DYN, error
            raise
        self.variables[name], self.compiled[name] = _simplified(program.type), program


def _simplified(found: Type) -> Type:
    """Return the type of a variable; objects and library types become dynamic."""
    if found.kind in ("list", "map"):
        return Type(found.kind, found.name, tuple(map(_simplified, found.params)))
    is_plain = found.kind not in ("struct", "opaque", "type", "error", "param")
    return found if is_plain else DYN


class ExpressionBudget:
    """The cost that all expressions of a policy may spend together."""

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, cost: int) -> None:
        """Subtract a cost; raise ``CelCostError`` if it exceeds what is left."""
        if cost > self.left:
            self.left = -1
            raise CelCostError(_OUT_OF_BUDGET)
        self.left -= cost


class Variables(Mapping[str, Value]):
    """The variables of a policy: each is evaluated when it is first read."""

    def __init__(
        self,
        compiled: Mapping[str, "AdmissionProgram | CelError"],
        scope: Mapping[str, Value],
        budget: ExpressionBudget,
    ) -> None:
        self._compiled, self._scope, self._budget = compiled, scope, budget
        self._known: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        if name not in self._known:
            self._known[name] = self._evaluated(name)
        return self._known[name]

    def _evaluated(self, name: str) -> Value:
        program = self._compiled[name]
        if isinstance(program, CelError):
            said = f"composited variable {quote(name)} fails to compile: {program}"
            raise CelEvaluationError(said)
        try:
            return program.evaluate({**self._scope, "variables": self}, self._budget)
        except CelCostError:
            raise
        except CelError as error:
            said = f"composited variable {quote(name)} fails to evaluate: {error}"
            raise CelEvaluationError(said) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._compiled)

    def __len__(self) -> int:
        return len(self._compiled)


@dataclass(frozen=True)
class AdmissionProgram:
    """A compiled expression."""

    text: str
    type: Type
    _slots: Mapping[str, int]
    _size: int
    _run: Run
    _meter: Meter

    def evaluate(self, scope: Mapping[str, Value], budget: ExpressionBudget) -> Value:
        """Return the value for these variables; raise ``CelEvaluationError`` or ``CelCostError``."""
        frame: list[Any] = [None] * self._size
        for name, slot in self._slots.items():
            frame[slot] = scope.get(name)
        self._meter.spent = 0
        try:
            value = self._run(frame)
        except FAILURES as error:
            raise evaluation_error(error) from None
        budget.spend(self._meter.spent)
        return value


def compile_admission(
    text: str, wanted: tuple[Type, ...], environment: AdmissionEnvironment
) -> AdmissionProgram:
    """Compile an expression whose type must be one of ``wanted``; raise ``CelCompileError``."""
    names = environment.names()
    objects = ObjectTypes(environment.variables or {}, patches=environment.patches)
    try:
        tree, issues = parse(text)
        if tree is not None:
            tree = expand(tree, issues)
        if tree is None or issues:
            raise CelCompileError(f"compilation failed: {render(text, issues)}")
        checked, issues = check_admission(tree, names, objects)
        issues = issues or validate(checked)
    except RecursionError:
        raise CelCompileError(
            f"compilation failed: {render(text, [Issue(-1, TOO_DEEP)])}"
        ) from None
    if issues:
        raise CelCompileError(f"compilation failed: {render(text, issues)}")
    found = checked.type_of(checked.tree)
    if wanted and found not in wanted:
        raise CelCompileError(_wrong_type(found, wanted))
    slots = {name: at for at, name in enumerate(names, start=_FIRST_SLOT)}
    evaluator = AdmissionEvaluator(checked, slots, objects)
    try:
        run = evaluator.compile(checked.tree)
    except InstantiationError as error:
        raise CelCompileError(f"program instantiation failed: {error}") from None
    return AdmissionProgram(text, found, slots, evaluator.frame_size, run, evaluator.meter)


def _wrong_type(found: Type, wanted: tuple[Type, ...]) -> str:
    if len(wanted) == 1:
        return f"must evaluate to {wanted[0]} but got {_printed(found)}"
    return f"must evaluate to one of [{' '.join(map(_printed, wanted))}] but got {_printed(found)}"


def _printed(found: Type) -> str:
    return "null_type" if found == NULL else str(found)
