"""CEL, the language of validation rules, as kube-apiserver runs it for custom resources.

    lexer, token_reader, parser    from the text of a rule to a tree (``ast``)
    macros                         expand ``all``, ``map``, ``has`` and the like into folds
    checker, unification           infer and check the types of all expressions
    validators                     check constant arguments
    cost, call_costs, sizes        estimate the highest possible cost
    evaluator, logic, loops        compile the tree into closures, which run on values
    metering                       count the actual cost
    adapters, schema_types         values and types of ``self``, from the schema
    program                        all of these steps: ``compile_rule``, ``Program.evaluate``
    functions                      the functions that rules can call
    admission_program              expressions of admission: other variables, a budget
    admission_types, patch_values  the types of their variables; the objects that mutations build

This is an interpreter of its own, because the Python libraries for CEL lack the Kubernetes
functions and do not refuse a rule for an undefined field, and because the error messages of
kube-apiserver come from its own parser and checker.  Those are reproduced here exactly.
"""

from myrmidon.apiserver.cel.errors import (
    CelCompileError,
    CelCostError,
    CelError,
    CelEvaluationError,
)
from myrmidon.apiserver.cel.evaluator import MISSING
from myrmidon.apiserver.cel.program import Program, compile_message, compile_rule

__all__ = [
    "MISSING",
    "CelCompileError",
    "CelCostError",
    "CelError",
    "CelEvaluationError",
    "Program",
    "compile_message",
    "compile_rule",
]
