"""Run a regular expression in time linear in the length of the text.

Python's ``re`` backtracks: ``^(a+)+$`` takes 2^n steps for n letters, and even ``a+$`` takes n².
The patterns here come from clients (schemas, validation rules), and a single one must not block the
server for all others.

The syntax tree is compiled to a program of four instructions: a character, a condition on the
position, a fork, and the end of a match.  All threads through the program advance together, one
character at a time.  The set of live threads is a *state*, kept in order of preference, so that the
first thread that reaches the end is the match that Go finds.  States and the moves between them are
cached per pattern, so a character whose move is cached costs one dict lookup.

The number of threads in a state is bounded by the size of the program, so a text of n characters
costs at most n times that size.  That can still be a lot: ``(a|b)*a(a|b){900}`` keeps hundreds of
threads alive.  ``budget`` limits the cost of all patterns of one request together.

The end of a match is found by a forward run; its start by a backward run from there.
"""

from typing import TypeAlias

from myrmidon.apiserver.golang.budget import spend
from myrmidon.apiserver.golang.regex_syntax import (
    CharSet,
    Choice,
    Edge,
    Node,
    Repeat,
    Sequence,
    is_word,
)

_REMEMBERED_MAX = 200_000  # threads in all cached states of one pattern
_ANY = CharSet((("\x00", "\U0010ffff"),))
_REVERSED = {
    Edge.TEXT_START: Edge.TEXT_END,
    Edge.TEXT_END: Edge.TEXT_START,
    Edge.LINE_START: Edge.LINE_END,
    Edge.LINE_END: Edge.LINE_START,
}


class _Fork:
    """Continue at both places; the first is preferred."""

    __slots__ = ("first", "second")

    def __init__(self, first: int, second: int) -> None:
        self.first, self.second = first, second


_Instruction: TypeAlias = tuple[CharSet | Edge, int] | _Fork | None  # None: a match ends here


class _Compiler:
    """Builds the program from its end to its start, so that each node knows where to continue."""

    def __init__(self, *, backwards: bool) -> None:
        self.program: list[_Instruction] = [None]
        self._backwards = backwards

    def place(self, instruction: _Instruction) -> int:
        self.program.append(instruction)
        return len(self.program) - 1

    def compile(self, node: Node, following: int) -> int:
        """Compile a node; return the position of its first instruction."""
        match node:
            case CharSet():
                return self.place((node, following))
            case Edge():
                edge = _REVERSED.get(node, node) if self._backwards else node
                return self.place((edge, following))
            case Sequence(nodes):
                for each in nodes if self._backwards else reversed(nodes):
                    following = self.compile(each, following)
                return following
            case Choice(nodes):
                starts = [self.compile(each, following) for each in nodes]
                found = starts.pop()
                while starts:
                    found = self.place(_Fork(starts.pop(), found))
                return found
            case Repeat():
                return self._repeat(node, following)

    def _repeat(self, repeat: Repeat, following: int) -> int:
        node, low, high = repeat.node, repeat.low, repeat.high
        if high is None:
            loop = _Fork(0, 0)
            at = self.place(loop)
            start = self.compile(node, at)
            loop.first, loop.second = self._ordered(repeat, start, following)
            if low == 0:
                return self.place(_Fork(*self._ordered(repeat, start, following)))
            following, low = start, low - 1
        else:
            out = following
            for _ in range(high - low):
                start = self.compile(node, following)
                following = self.place(_Fork(*self._ordered(repeat, start, out)))
        for _ in range(low):
            following = self.compile(node, following)
        return following

    @staticmethod
    def _ordered(repeat: Repeat, start: int, out: int) -> tuple[int, int]:
        return (out, start) if repeat.lazy else (start, out)


class _State:
    """The live threads in order of preference, and the kind of the character before them."""

    __slots__ = ("before", "moves", "threads")

    def __init__(self, threads: tuple[int, ...], before: str) -> None:
        self.threads, self.before = threads, before
        self.moves: dict[str, tuple[bool, _State | None]] = {}


class Automaton:
    """A program and its cached states.

    ``leftmost``: find matches anywhere, and stop at the one that Go prefers.  Otherwise the program
    is reversed, matches begin where the run begins, and all their ends are reported.
    """

    def __init__(self, node: Node, *, leftmost: bool) -> None:
        compiler = _Compiler(backwards=not leftmost)
        start = compiler.compile(node, 0)
        if leftmost:  # as if the pattern began with .*?
            anywhere = _Fork(start, 0)
            start = compiler.place(anywhere)
            anywhere.second = compiler.place((_ANY, start))
        self._program, self._start, self._leftmost = compiler.program, start, leftmost
        self._states: dict[tuple[tuple[int, ...], str], _State] = {}
        self._remembered = 0

    def start(self, before: str) -> _State:
        """Return the initial state after the character ``before`` (``""`` at either end)."""
        return self._state((self._start,), _seen(before))

    def move(self, state: _State, char: str) -> tuple[bool, _State | None]:
        """Return whether a match ends before ``char`` (``""`` at the end), and the next state."""
        found = state.moves.get(char)
        if found is not None:
            return found
        leaves, matched = self._follow(state, char)
        following: dict[int, None] = {}
        if char:
            for accepted, to in leaves:
                if to not in following and accepted.contains(char):
                    following[to] = None
        reached = self._state(tuple(following), _seen(char)) if following else None
        state.moves[char] = matched, reached
        return matched, reached

    def _follow(self, state: _State, after: str) -> tuple[list[tuple[CharSet, int]], bool]:
        """Follow forks and conditions.

        Return the character sets that are expected next, and whether a match ends here.
        """
        leaves: list[tuple[CharSet, int]] = []
        matched = False
        seen: set[int] = set()
        stack = list(reversed(state.threads))
        while stack:
            at = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            instruction = self._program[at]
            if instruction is None:
                matched = True
                if self._leftmost:
                    break  # the remaining threads are less preferred
            elif isinstance(instruction, _Fork):
                stack += (instruction.second, instruction.first)
            elif isinstance(instruction[0], CharSet):
                leaves.append((instruction[0], instruction[1]))
            elif _holds(instruction[0], state.before, after):
                stack.append(instruction[1])
        spend(len(seen))
        return leaves, matched

    def _state(self, threads: tuple[int, ...], before: str) -> _State:
        found = self._states.get((threads, before))
        if found is None:
            self._remembered += len(threads) + 8
            if self._remembered > _REMEMBERED_MAX:
                self._states.clear()
                self._remembered = 0
            found = self._states[threads, before] = _State(threads, before)
        return found


def _seen(char: str) -> str:
    """Return the class of a character for conditions: none, line end, word character, other."""
    if not char or char == "\n":
        return char
    return "w" if is_word(char) else "-"


def _holds(edge: Edge, before: str, after: str) -> bool:
    match edge:
        case Edge.TEXT_START:
            return not before
        case Edge.TEXT_END:
            return not after
        case Edge.LINE_START:
            return before in {"", "\n"}
        case Edge.LINE_END:
            return after in {"", "\n"}
        case Edge.WORD:
            return (before == "w") is not _is_word(after)
        case Edge.NOT_WORD:
            return (before == "w") is _is_word(after)


def _is_word(after: str) -> bool:
    return bool(after) and is_word(after)
