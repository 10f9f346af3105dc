"""The faults of a plan in plain words: when they happen, and what they do."""

from myrmidon.testing.simulation.actions import Action
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
    **{
        f"reply {code}": f"the server refuses the request with {code}"
        for code in (400, 401, 403, 404, 409, 410, 413, 422, 429, 500, 503, 504)
    },
}
_VIEWS = {
    "lag": "events about {target} arrive {seconds} s late",
    "hold": "no event about {target} arrives for {seconds} s",
    "travel": "the next process may see {target} as it was {number} changes ago",
    "watch eof": "the watch ends",
    "watch 410": "the watch expires (410)",
    "watch stall": "the watch falls silent",
    "watch dup": "the event arrives twice",
    "pause": "the process stops for {seconds} s without noticing it",
    "slow": "each answer takes {seconds} s",
    "clock": "the wall clock of the process jumps by {seconds} s",
}
_WORLD = {
    "lease lose": "the Lease is deleted",
    "lease steal": "another client takes the Lease",
    "webhook mutate": "a webhook changes each write of {target}",
    "webhook reject": "a webhook refuses each write of {target}",
    "webhook down": "the webhook for {target} is down",
    "user delete": "the user deletes {target}",
    "user recreate": "the user deletes {target} and creates it again",
    "user edit": "the user edits {target}",
    "monkey delete": "another client deletes {target}",
    "monkey edit": "another client edits {target}",
    "monkey status": "another client edits the status of {target}",
    "rbac": "requests about {target} are refused with 403",
    "namespace": "the namespace is deleted",
    "gc lag": "the garbage collector is {seconds} s late",
    "gc restart": "the garbage collector starts again with an empty graph",
}
