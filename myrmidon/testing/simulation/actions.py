"""What a fault of a plan does: actions as values, with a JSON form.

=================================  ==========================================================
``crash(before|after, down=s)``    the process that sends the request dies, before or after the
                                   server acted, and starts again after ``down`` seconds
``lost()``                         the request never arrives; the client sees a timeout
``applied_then(timeout|reset|500)``the server acts, and the client sees an error
``reply(code, retry_after)``       the server refuses; nothing happens
``lag(kind, seconds, duration)``   events about a kind arrive that much later
``hold(kind, duration)``           no event about a kind arrives for so long
``travel(kind, back, duration)``   the next process sees the kind as it was so many changes ago,
                                   where the protocol allows it (a read with resourceVersion=0)
``watch(eof|410|stall|dup)``       the watch that delivers this event, or the next one
``watch(cut|replay|gone|empty)``   half a line; an older event again; the next watch is refused
                                   with 410, or ends at once a few times
``gap(kind, seconds)``             the watches of a kind end and cannot be opened for so long; what
                                   happened meanwhile is only seen by a new list
``pages(kind)``                    the next list of a kind comes in pages, and its second page expires
``stop(down)``                     the process is asked to stop (SIGTERM), and starts again later
``spurious()``                     every object is reconciled, for no reason
``pause(duration)``                the process stops, and goes on later without noticing
``slow(seconds, duration)``        each answer to the process takes so long
``clock(jump)``, ``drift(rate)``   the wall clock of the process jumps, or is too fast or too slow
``lease(lose|steal)``              the Lease is deleted, or taken by another client
``webhook(mutate|reject|down)``    an admission webhook for a kind; ``quota``: the quota is exceeded
``user(delete|recreate|edit)``     the user changes an object of the scenario
``monkey(delete|edit|status)``     another client deletes or edits an object, or its status
``monkey(orphan|hold|strip|...)``  see ``meddling``: other changes of an object by another client
``rbac(kind, verbs, duration)``    requests are refused with 403
``refuse(code, kind, duration)``   requests are refused with another code
``malformed(kind)``                there is an object that its schema does not allow
``crd(absent|change|drop)``        the definition of a kind is not served, changes, or is created anew
``outage(replica|kind|object)``    a part is broken, and stays so until the rest was judged
``schedule(pct|shuffle, seed)``    the order in which requests are answered, or callbacks run
``namespace()``                    the namespace of the scenario is deleted
``gc(lag|restart)``                the garbage collector is late, or loses its graph
=================================  ==========================================================

External systems take ``crash``, ``lost``, ``applied_then`` and ``reply``.
"""

from dataclasses import dataclass
from typing import Any

from myrmidon.api.objects.accessors import Json
from myrmidon.errors import UsageError

CODES = (400, 401, 403, 404, 409, 410, 413, 422, 429, 500, 503, 504)

# Every kind of action, with the values that its first argument may have; () for any.
KINDS: dict[str, tuple[str, ...]] = {
    "crash": ("before", "after"),
    "lost": (),
    "applied_then": ("timeout", "reset", "500"),
    "reply": tuple(map(str, CODES)),
    "lag": (),
    "hold": (),
    "travel": (),
    "watch": ("eof", "410", "stall", "dup", "cut", "replay", "gone", "empty"),
    "gap": (),
    "pages": (),
    "stop": (),
    "spurious": (),
    "pause": (),
    "slow": (),
    "clock": ("", "drift"),
    "lease": ("lose", "steal"),
    "webhook": ("mutate", "reject", "down", "quota"),
    "user": ("delete", "recreate", "edit"),
    "monkey": (
        "delete", "edit", "status", "orphan", "hold", "strip", "burst", "occupy", "terminate",
        "garbage",
    ),
    "rbac": (),
    "refuse": tuple(map(str, CODES)),
    "malformed": (),
    "crd": ("absent", "change", "drop"),
    "outage": ("replica", "kind", "object"),
    "schedule": ("pct", "shuffle"),
    "namespace": (),
    "gc": ("lag", "restart"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Action:
    """One action: its kind, its variant (``how``) and its further arguments."""

    kind: str
    how: str = ""
    target: str = ""  # a kind, or Kind/name
    seconds: float = 0.0  # how long, or how much
    lasts: float = 0.0  # how long a lasting fault lasts
    number: int = 0  # a count: how many changes back
    body: tuple[tuple[str, Any], ...] = ()  # the merge patch of an edit

    def __post_init__(self) -> None:
        allowed = KINDS.get(self.kind)
        if allowed is None or (allowed and self.how not in allowed):
            listed = ", ".join(f"{kind}({'|'.join(hows)})" for kind, hows in KINDS.items())
            raise UsageError(
                f"{self.kind}({self.how}) is not an action.\n  fix: use one of {listed}"
            )

    def to_json(self) -> Json:
        """Return the action as JSON, without what is not said."""
        made: Json = {"do": self.kind}
        for name in ("how", "target", "seconds", "lasts", "number"):
            if getattr(self, name):
                made[name] = getattr(self, name)
        if self.body:
            made["body"] = thawed(self.body)
        return made

    @property
    def name(self) -> str:
        """The kind and variant in one word, such as ``crash after``."""
        return f"{self.kind} {self.how}".strip()

    def __str__(self) -> str:
        said = [self.how] if self.how else []
        said += [self.target] if self.target else []
        for name in ("seconds", "lasts", "number"):
            if getattr(self, name):
                said.append(f"{name}={getattr(self, name):g}")
        return f"{self.kind}({', '.join(said)})"


def action_from_json(document: Json) -> Action:
    """Return the action of a JSON form; raise ``UsageError`` if it is not one."""
    given = dict(document)
    kind, body = str(given.pop("do", "")), given.pop("body", {})
    try:
        return Action(kind, body=frozen(body), **given)
    except TypeError as error:
        raise UsageError(f"{document} is not an action of a plan: {error}") from None


def crash(when: str = "after", *, down: float = 5.0) -> Action:
    """Kill the process that sends the request; start a new one after ``down`` seconds."""
    return Action("crash", when, seconds=down)


def lost() -> Action:
    """Let the request get lost on its way; the client sees a timeout."""
    return Action("lost")


def applied_then(error: str = "timeout") -> Action:
    """Let the server act and the client see an error: timeout, reset or 500."""
    return Action("applied_then", str(error))


def reply(code: int, *, retry_after: float = 0.0) -> Action:
    """Refuse the request with a status code."""
    return Action("reply", str(code), seconds=retry_after)


def lag(kind: str, seconds: float, *, lasts: float = 60.0) -> Action:
    """Deliver the events of a kind that much later, for ``lasts`` seconds."""
    return Action("lag", target=kind, seconds=seconds, lasts=lasts)


def hold(kind: str, seconds: float = 30.0) -> Action:
    """Deliver no event of a kind for so long."""
    return Action("hold", target=kind, seconds=seconds)


def travel(kind: str, back: int = 1, *, lasts: float = 30.0) -> Action:
    """Show the next process the kind as it was so many changes ago, for ``lasts`` seconds."""
    return Action("travel", target=kind, number=back, lasts=lasts)


def watch(how: str, kind: str = "") -> Action:
    """End, expire, stall or repeat the watch that delivers this event, or the next of a kind."""
    return Action("watch", str(how), target=kind)


def pause(seconds: float = 20.0) -> Action:
    """Stop the process for so long; it does not notice."""
    return Action("pause", seconds=seconds)


def slow(seconds: float = 1.2, *, lasts: float = 60.0) -> Action:
    """Let each answer to the process take so long, for ``lasts`` seconds."""
    return Action("slow", seconds=seconds, lasts=lasts)


def clock(jump: float) -> Action:
    """Let the wall clock of the process jump by so many seconds."""
    return Action("clock", seconds=jump)


def drift(rate: float) -> Action:
    """Let the wall clock of the process gain so many seconds each second; below 0 it loses them."""
    return Action("clock", "drift", seconds=rate)


def lease(how: str = "lose") -> Action:
    """Delete the Lease, or let another client take it."""
    return Action("lease", how)


def webhook(how: str, kind: str = "", *, lasts: float = 30.0) -> Action:
    """Let an admission webhook change or refuse the writes of a kind, or be down."""
    return Action("webhook", how, target=kind, lasts=lasts)


def user(how: str, target: str = "", body: Json | None = None) -> Action:
    """Let the user delete, recreate or edit an object of the scenario (``Kind/name``)."""
    return Action("user", how, target=target, body=frozen(body or {}))


def monkey(
    how: str, target: str, body: Json | None = None, *, lasts: float = 0.0, number: int = 0
) -> Action:
    """Let another client change an object: ``Kind/name`` or ``Kind/namespace/name``.

    ``lasts``: for ``hold``, ``occupy`` and ``terminate``.  ``number``: the edits of a ``burst``.
    """
    return Action("monkey", how, target=target, body=frozen(body or {}), lasts=lasts, number=number)


def rbac(kind: str = "", verb: str = "", *, lasts: float = 30.0) -> Action:
    """Refuse requests with 403: those of a kind and a verb, or all."""
    return Action("rbac", verb, target=kind, lasts=lasts)


def refuse(code: int, kind: str = "", *, lasts: float = 30.0) -> Action:
    """Refuse the requests of a kind, or all, with a status code for ``lasts`` seconds."""
    return Action("refuse", str(code), target=kind, lasts=lasts)


def gap(kind: str, seconds: float = 30.0) -> Action:
    """End the watches of a kind for so long; afterwards their resourceVersion has expired."""
    return Action("gap", target=kind, seconds=seconds)


def pages(kind: str) -> Action:
    """Let the next list of a kind come in pages of one object, whose continue token expires."""
    return Action("pages", target=kind)


def stop(down: float = 5.0) -> Action:
    """Ask the process to stop, as SIGTERM does; start a new one ``down`` seconds after its end."""
    return Action("stop", seconds=down)


def spurious() -> Action:
    """Reconcile every object although nothing has changed."""
    return Action("spurious")


def malformed(kind: str) -> Action:
    """Store an object of a kind that its schema does not allow; it is gone when faults are over."""
    return Action("malformed", target=kind)


def crd(how: str, kind: str, *, lasts: float = 30.0) -> Action:
    """Let a definition be absent for a while, change, or be deleted and created again."""
    return Action("crd", how, target=kind, lasts=lasts)


def outage(how: str, target: str = "") -> Action:
    """Break a replica, a kind or an object for ever, as far as the controllers can see."""
    return Action("outage", how, target=target)


def schedule(how: str = "pct", seed: int = 0, *, depth: int = 2) -> Action:
    """Choose another order of answers (``pct``), or of callbacks in the event loop (``shuffle``)."""
    return Action("schedule", how, number=seed, seconds=float(depth))


def namespace() -> Action:
    """Delete the namespace of the scenario."""
    return Action("namespace")


def gc(how: str = "lag", seconds: float = 10.0) -> Action:
    """Let the garbage collector be late, or rebuild its graph."""
    return Action("gc", how, seconds=seconds)


def frozen(value: Any) -> Any:
    """Return JSON as nested tuples, so that an action can be a key."""
    if isinstance(value, dict):
        return tuple((key, frozen(value[key])) for key in sorted(value))
    if isinstance(value, list):
        return ("", *map(frozen, value))
    return value


def thawed(value: Any) -> Any:
    """Return the JSON of ``frozen``."""
    if not isinstance(value, tuple):
        return value
    if value and value[0] == "":
        return [thawed(item) for item in value[1:]]
    return {key: thawed(item) for key, item in value}
