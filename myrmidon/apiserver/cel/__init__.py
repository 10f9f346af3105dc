"""CEL, the language of validation rules, as kube-apiserver runs it for custom resources.

An interpreter of our own: of the libraries that were tried none has the Kubernetes functions, none
can refuse a rule for an undefined field, and the real server's messages come from its own checker.
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
