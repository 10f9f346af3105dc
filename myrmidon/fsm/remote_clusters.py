"""The remote clusters that a controller uses, by the names under which it declares them."""

from typing import Any

from myrmidon.fsm.controller import Controller


def clusters_of(controller: type[Controller[Any]]) -> tuple[str, ...]:
    """Return the names of the clusters in ``manages``, ``reads`` and ``watches``, each once."""
    declared = (*controller.managed_kinds, *controller.read_kinds)
    names = [kind.cluster for kind in declared if kind.cluster]
    names += [watch.remote for watch in controller.watches if watch.remote is not None]
    return tuple(dict.fromkeys(names))
