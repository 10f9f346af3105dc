"""The requests and limits of a whole pod, as the scheduler, quotas and limit ranges count them.

Containers run at the same time, so their amounts add up.  Init containers run one after the other
before them: the largest counts, unless it has ``restartPolicy: Always`` (a sidecar), which runs until
the end.  Amounts of the pod itself (``spec.resources``) replace these sums, and ``spec.overhead`` is
added.
"""

from collections.abc import Iterator
from typing import Literal

from myrmidon.api.objects.accessors import Json
from myrmidon.apiserver.builtin.quotas.amounts import Amounts, add, maximum

Part = Literal["requests", "limits"]
_POD_LEVEL = ("cpu", "memory")
_HUGE_PAGES = "hugepages-"


def pod_resources(pod: Json, part: Part) -> dict[str, str]:
    """Return the requests or the limits of a pod."""
    spec = pod["spec"]
    total: dict[str, str] = {}
    for container in spec.get("containers") or ():
        total = add(total, amounts_of(container, part))
    sidecars: dict[str, str] = {}
    first: dict[str, str] = {}
    for container in spec.get("initContainers") or ():
        amounts = amounts_of(container, part)
        if container.get("restartPolicy") == "Always":
            total, sidecars = add(total, amounts), add(sidecars, amounts)
            amounts = sidecars
        else:
            amounts = add(amounts, sidecars)
        first = maximum(first, amounts)
    total = maximum(total, first)
    total.update(
        (name, amount)
        for name, amount in amounts_of(spec, part).items()
        if name in _POD_LEVEL or name.startswith(_HUGE_PAGES)
    )
    overhead: Amounts = spec.get("overhead") or {}
    if part == "limits":  # only what is limited has an overhead beyond its limit
        overhead = {name: amount for name, amount in overhead.items() if name in total}
    return add(total, overhead)


def amounts_of(container: Json, part: Part) -> Amounts:
    """Return the requests or the limits of a container, or those of the pod itself for its spec."""
    found: Amounts = (container.get("resources") or {}).get(part) or {}
    return found


def containers_of(pod: Json) -> Iterator[tuple[str, Json]]:
    """Yield the containers of a pod with what messages call them, init containers last."""
    for container in pod["spec"].get("containers") or ():
        yield "container", container
    for container in pod["spec"].get("initContainers") or ():
        yield "init container", container
