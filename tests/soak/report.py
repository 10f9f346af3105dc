"""The verdicts of a run as plain functions of the measurements, and the printed text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

RSS_FACTOR_MAX, RSS_BYTES_MAX = 1.15, 8 << 20
DESCRIPTORS_MORE_MAX = 12
TASKS_MORE_MAX = 12


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement of a process."""

    age: float
    rss: float
    descriptors: float
    tasks: float
    passes: float
    works: float
    """1 if it runs passes, 0 on standby."""


@dataclass
class Report:
    """The figures of a run, and its failed checks."""

    seed: int
    minutes: float
    facts: list[tuple[str, str]] = field(default_factory=list)
    failures: dict[str, list[str]] = field(default_factory=dict)

    def fact(self, name: str, value: object) -> None:
        """Add a figure."""
        self.facts.append((name, str(value)))

    def verdict(self, name: str, problems: Sequence[str]) -> None:
        """Add a check; it holds if there are no problems."""
        self.facts.append((name, "FAILED" if problems else "holds"))
        if problems:
            self.failures[name] = list(problems)

    def text(self, evidence_max: int = 10) -> str:
        """Return the report, with the first pieces of evidence for each failure."""
        width = max(len(name) for name, _ in self.facts) if self.facts else 0
        lines = [f"soak: {self.minutes:g} minutes, seed {self.seed}", ""]
        lines += [f"  {name:<{width}}  {value}" for name, value in self.facts]
        for name, problems in self.failures.items():
            lines += ["", f"FAILED: {name} ({len(problems)})"]
            lines += [f"  - {problem}" for problem in problems[:evidence_max]]
        lines += ["", f"repeat it with: SOAK_SEED={self.seed} make soak"]
        return "\n".join(lines)


def growth(name: str, samples: Sequence[Sample], warm_seconds: float = 30.0) -> list[str]:
    """Return what grew between the first and the last third of a process's life.

    A standby that begins to lead starts its workers, so only the time since then counts.  A life
    without enough measurements after the warm-up proves nothing, and says nothing.
    """
    role = [one for one in samples if one.works == samples[-1].works]
    warm = [one for one in role if one.age - role[0].age >= warm_seconds]
    third = len(warm) // 3
    if third < 5:
        return []
    first, last = warm[:third], warm[-third:]
    found = []
    before, after = (median(one.rss for one in part) for part in (first, last))
    if after > before * RSS_FACTOR_MAX + RSS_BYTES_MAX:
        found.append(f"{name}: memory grew from {before / 2**20:.1f} to {after / 2**20:.1f} MiB")
    for what, more in (("descriptors", DESCRIPTORS_MORE_MAX), ("tasks", TASKS_MORE_MAX)):
        before, after = (median(getattr(one, what) for one in part) for part in (first, last))
        if after > before + more:
            found.append(f"{name}: {what} grew from {before:g} to {after:g}")
    return found


def never_fired(fired: Mapping[str, int], faults: Iterable[str]) -> list[str]:
    """Return the kinds of fault that had no effect in the whole run; a longer one has more."""
    return [f"{fault}: had an effect 0 times" for fault in sorted(faults) if not fired.get(fault)]
