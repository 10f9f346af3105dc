"""Defaults of the built-in kinds, by type.

Defaults belong to types, not to kinds: a probe gets the same defaults in a Pod and in the template
of a CronJob.  ``COMPLETIONS`` has a function for each type with defaults.  Decoding calls it after
the struct and everything inside it were read, so an inner struct always has its defaults before the
outer one is completed.
"""

from myrmidon.apiserver.builtin.defaults.access import ACCESS
from myrmidon.apiserver.builtin.defaults.completions import Completion, prefixed
from myrmidon.apiserver.builtin.defaults.core import CORE
from myrmidon.apiserver.builtin.defaults.extensions import EXTENSIONS
from myrmidon.apiserver.builtin.defaults.networking import NETWORKING
from myrmidon.apiserver.builtin.defaults.pods import PODS
from myrmidon.apiserver.builtin.defaults.scaling import SCALING
from myrmidon.apiserver.builtin.defaults.services import SERVICES
from myrmidon.apiserver.builtin.defaults.storage import STORAGE
from myrmidon.apiserver.builtin.defaults.workloads import WORKLOADS

COMPLETIONS: dict[str, Completion] = {
    **prefixed("io.k8s.api.core.v1.", PODS | SERVICES | CORE),
    **prefixed("io.k8s.api.", WORKLOADS),
    **prefixed("io.k8s.", NETWORKING | ACCESS | SCALING | STORAGE | EXTENSIONS),
}

__all__ = ["COMPLETIONS"]
