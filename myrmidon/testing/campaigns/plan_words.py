"""The faults of a plan in plain words: when they happen, and what they do."""

from myrmidon.testing.simulation.actions import CODES, Action
from myrmidon.testing.simulation.plan import PlannedFault
from myrmidon.testing.simulation.triggers import Moment

_ORDINALS = {1: "first", 2: "second", 3: "third"}


def fault_words(fault: PlannedFault) -> str:
    """Return a fault as a sentence."""
    return f"{_when(fault.trigger)}, {_what(fault.action)}"


def _when(moment: Moment) -> str:
    match moment.on:
        case "end":
            return "after the last step of the scenario"
        case "time":
            return f"{moment.seconds:g} s after the start"
        case "event":
            about = f" about {moment.kind}" if moment.kind else ""
            return f"at the {_ordinal(moment.number)} watch event{about} that arrives"
        case on:
            what = " ".join(filter(None, (moment.verb, moment.kind, on)))
            where = f" in the state {moment.state}" if moment.state else ""
            return f"at the {_ordinal(moment.number)} {what} of the controllers{where}"


def _ordinal(number: int) -> str:
    return _ORDINALS.get(number, f"{number}th")


def _what(action: Action) -> str:
    found = _REQUESTS.get(action.name) or _VIEWS.get(action.name) or _WORLD.get(action.name)
    if found is None:
        return str(action)
    lasts = f", for {action.lasts:g} s" if action.lasts else ""
    words = found.format(
        target=action.target or "any kind", seconds=f"{action.seconds:g}", number=action.number,
        how=action.how,
    )  # fmt: skip
    return words + lasts


_REQUESTS = {
    "crash before": "the process dies before the server gets the request, and starts again after {seconds} s",
    "crash after": "the process dies after the server has acted, and starts again after {seconds} s",
    "lost": "the request is lost on its way, and the controller sees a timeout",
    "applied_then timeout": "the server acts, but the controller sees a timeout",
    "applied_then reset": "the server acts, but the connection breaks before the answer",
    "applied_then 500": "the server acts, but answers 500",
    **{f"reply {code}": f"the server refuses the request with {code}" for code in CODES},
}
_VIEWS = {
    "lag": "events about {target} arrive {seconds} s late",
    "hold": "no event about {target} arrives for {seconds} s",
    "travel": "the next process may see {target} as it was {number} changes ago",
    "watch eof": "the watch ends",
    "watch 410": "the watch expires (410)",
    "watch stall": "the watch falls silent",
    "watch dup": "the event arrives twice",
    "watch cut": "half of the event arrives, and the watch ends",
    "watch replay": "the event before it arrives again after it",
    "watch gone": "the watch ends, and the next one is refused with 410",
    "watch empty": "the watch ends, and so do the next ones at once",
    "gap": "the watches of {target} end for {seconds} s, and what happened meanwhile has expired",
    "pages": "the next list of {target} comes in pages, and the second page has expired",
    "stop": "the process is asked to stop, and starts again {seconds} s after its end",
    "spurious": "every object is reconciled for no reason",
    "pause": "the process stops for {seconds} s without noticing it",
    "slow": "each answer takes {seconds} s",
    "clock": "the wall clock of the process jumps by {seconds} s",
    "clock drift": "the wall clock of the process gains {seconds} s each second",
    "schedule pct": "requests are answered in another order, drawn from seed {number}",
    "schedule shuffle": "callbacks run in another order, drawn from seed {number}",
}
_WORLD = {
    "lease lose": "the Lease is deleted",
    "lease steal": "another client takes the Lease",
    "webhook mutate": "a webhook changes each write of {target}",
    "webhook reject": "a webhook refuses each write of {target}",
    "webhook down": "the webhook for {target} is down",
    "webhook quota": "the quota for {target} is exceeded",
    "user delete": "the user deletes {target}",
    "user recreate": "the user deletes {target} and creates it again",
    "user edit": "the user edits {target}",
    "monkey delete": "another client deletes {target}",
    "monkey edit": "another client edits {target}",
    "monkey status": "another client edits the status of {target}",
    "monkey garbage": "another client writes a wrong status to {target}",
    "monkey orphan": "another client removes labels and owners of {target}",
    "monkey hold": "another client adds its finalizer to {target}",
    "monkey terminate": "another client deletes {target} and holds it with a finalizer",
    "monkey strip": "another client removes the finalizers of {target}",
    "monkey burst": "another client edits {target} many times",
    "monkey occupy": "an object of another owner takes the place of {target}",
    "rbac": "requests about {target} are refused with 403",
    **{f"refuse {code}": f"requests about {{target}} are refused with {code}" for code in CODES},
    "malformed": "there is a malformed object of the kind {target}",
    "crd absent": "the kind {target} is not served",
    "crd change": "the definition of {target} changes",
    "crd drop": "the definition of {target} and its objects are deleted and created again",
    "outage replica": "the process hangs for ever",
    "outage kind": "writes of {target} are refused for ever",
    "outage object": "writes to {target} are refused for ever",
    "namespace": "the namespace is deleted",
    "gc lag": "the garbage collector is {seconds} s late",
    "gc restart": "the garbage collector starts again with an empty graph",
}
