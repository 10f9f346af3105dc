"""Patterns of Go, for rules that run."""

import re

from myrmidon.apiserver.cel.errors import CelEvaluationError
from myrmidon.apiserver.go_regex import PatternError, translate

__all__ = ["PatternError", "compile_pattern", "translate"]


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """As ``translate``, for use while a rule runs."""
    try:
        return translate(pattern)
    except PatternError as error:
        raise CelEvaluationError(str(error)) from None
