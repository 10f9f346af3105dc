"""The parser: from tokens to a tree, by precedence climbing."""

from typing import NoReturn

from myrmidon.api.values.cel_names import KEYWORDS
from myrmidon.apiserver.cel.ast import (
    AND,
    BINARY,
    CONDITIONAL,
    INDEX,
    NEGATE,
    NOT,
    OPT_INDEX,
    OPT_SELECT,
    OR,
    CallExpr,
    Entry,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
    qualified_name,
)
from myrmidon.apiserver.cel.errors import Issue
from myrmidon.apiserver.cel.lexer import Token, tokenize
from myrmidon.apiserver.cel.literals import BadLiteralError, read_literal
from myrmidon.apiserver.cel.token_reader import (
    LEVELS,
    LITERALS,
    STARTS,
    GaveUpError,
    TokenReader,
    listed,
)

DEEPEST = 250
TOO_DEEP = "max recursion depth exceeded"
LONGEST = 100_000

_NOWHERE = -1


def parse(text: str) -> tuple[Expr | None, list[Issue]]:
    """Return the tree of a rule, and its syntax errors.

    The tree is None if the text cannot be parsed; there are errors in this case.
    """
    if len(text) > LONGEST:
        message = f"expression code point size exceeds limit: size: {len(text)}, limit {LONGEST}"
        return None, [Issue(_NOWHERE, message)]
    tokens, issues = tokenize(text)
    return _Parser(tokens, issues).parse()


class _Parser(TokenReader):
    _depth = 0

    def parse(self) -> tuple[Expr | None, list[Issue]]:
        try:
            tree = self._expr()
            self.expect("end")
        except GaveUpError:
            return None, self.issues
        except RecursionError:
            self.issues.append(Issue(_NOWHERE, TOO_DEEP))
            return None, self.issues
        return tree, self.issues

    # ------------------------------------------------------------ operators

    def _expr(self) -> Expr:
        self._depth += 1
        if self._depth > DEEPEST:
            self.issues.append(Issue(_NOWHERE, f"expression recursion limit exceeded: {DEEPEST}"))
            raise GaveUpError
        condition = self._operators(1)
        if mark := self.accept("?"):
            chosen = self._operators(1)
            self.expect(":")
            condition = CallExpr(CONDITIONAL, (condition, chosen, self._expr()), pos=mark.pos)
        self._depth -= 1
        return condition

    def _operators(self, level: int) -> Expr:
        """Parse operands that are joined by operators of this precedence or above."""
        left = self._unary()
        while (found := LEVELS.get(self.next.kind, 0)) >= level:
            if found <= 2:
                left = self._chain(left, found)
                continue
            operator = self.take()
            right = self._operators(found + 1)
            left = CallExpr(BINARY[operator.kind], (left, right), pos=operator.pos)
        return left

    def _chain(self, first: Expr, level: int) -> Expr:
        """Parse ``a && b && c`` as one call with three arguments."""
        symbol = self.next
        terms = [first]
        while self.accept(symbol.kind):
            terms.append(self._operators(level + 1))
        return CallExpr(AND if symbol.kind == "&&" else OR, tuple(terms), pos=symbol.pos)

    def _unary(self) -> Expr:
        if not self.sync(STARTS):
            return Literal("null", None, self.next.pos)
        sign = self.next
        if sign.kind == "!" or (sign.kind == "-" and self.after_next() not in ("int", "float")):
            count = 0
            while self.accept(sign.kind):
                count += 1
            self._check_operand(sign)
            operand = self._member()
            function = NOT if sign.kind == "!" else NEGATE
            return CallExpr(function, (operand,), pos=sign.pos) if count % 2 else operand
        return self._member()

    def _check_operand(self, sign: Token) -> None:
        if self.next.kind == "end":
            if sign.kind == "!":
                self.give_up(f"extraneous input '<EOF>' expecting {listed(STARTS)}")
            self.complain("no viable alternative at input '-'")
            self.confused = False  # the real parser reports this position twice
            self.give_up(f"mismatched input '<EOF>' expecting {listed(STARTS)}")
        self.sync(STARTS)

    # ------------------------------------------------------------ members

    def _member(self) -> Expr:
        operand = self._primary()
        while self.next.kind in (".", "["):
            mark = self.take()
            operand = (
                self._select(operand, mark) if mark.kind == "." else self._index(operand, mark)
            )
        return operand

    def _select(self, operand: Expr, dot: Token) -> Expr:
        optional = self.accept("?")
        name = self.next
        if name.kind == "in" and not optional:
            self.complain("no viable alternative at input '.in'")
            return operand
        if name.kind not in ("ident", "escaped"):
            self._no_name(dot, optional)
        self.take()
        if name.kind == "escaped":
            self.issues.append(Issue(name.pos, "unsupported syntax: '`'"))
        if optional:
            return CallExpr(
                OPT_SELECT, (operand, Literal("string", name.text, name.pos)), pos=dot.pos
            )
        if name.kind == "ident" and self.next.kind == "(":
            return self._arguments(name.text, operand)
        if self.next.kind == "{" and (prefix := qualified_name(operand)):
            return self._struct(f"{prefix}.{name.text}")
        return Select(operand, name.text, pos=dot.pos)

    def _no_name(self, dot: Token, optional: Token | None) -> NoReturn:
        found = self.next
        if optional:
            self.complain(
                f"mismatched input {found.display()} expecting {listed(frozenset(('ident', 'escaped')))}"
            )
            self.issues.append(Issue(found.pos, "unsupported ident kind"))
            raise GaveUpError
        if found.kind in ("true", "false", "null"):
            self.give_up(f"mismatched input {found.display()} expecting IDENTIFIER")
        shown = dot.text + ("" if found.kind == "end" else found.text)
        self.give_up(f"no viable alternative at input '{shown}'")

    def _index(self, operand: Expr, bracket: Token) -> Expr:
        if not self.sync(STARTS | {"?"}):
            return operand
        function = OPT_INDEX if self.accept("?") else INDEX
        index = self.within("]", self._expr)
        self.expect("]")
        return CallExpr(function, (operand, index), pos=bracket.pos)

    def _arguments(self, name: str, target: Expr | None) -> Expr:
        opened = self.take()
        if not self.sync(STARTS | {")"}):
            return Literal("null", None, opened.pos)
        args: list[Expr] = []
        if self.next.kind != ")":
            args.append(self.within(")", self._expr))
            while self.accept(","):
                args.append(self.within(")", self._expr))
        self.expect(")")
        return CallExpr(name, tuple(args), target, pos=opened.pos)

    # ------------------------------------------------------------ primaries

    def _primary(self) -> Expr:
        token = self.next
        if token.kind in LITERALS or token.kind == "-":
            return self._literal()
        if token.kind == "(":
            self.take()
            inner = self.within(")", self._expr)
            self.expect(")")
            return inner
        if token.kind == "[":
            return self._list()
        if token.kind == "{":
            return self._map()
        return self._name()

    def _literal(self) -> Expr:
        token = self.take()
        sign = ""
        pos = token.pos
        if token.kind == "-":
            sign, token = "-", self.take()
        try:
            kind, value = read_literal(token.kind, sign + token.text)
        except BadLiteralError as error:
            self.issues.append(Issue(pos, str(error)))
            return Literal("null", None, pos)
        return Literal(kind, value, pos)

    def _name(self) -> Expr:
        dot = self.accept(".")
        name = self.next
        if name.kind != "ident":
            shown = "." + ("" if name.kind == "end" else name.text)
            self.give_up(f"no viable alternative at input '{shown}'")
        self.take()
        text = ("." if dot else "") + name.text
        if self.next.kind == "{":
            return self._struct(text)
        if name.text in KEYWORDS:
            self.issues.append(Issue((dot or name).pos, f"reserved identifier: {name.text}"))
            if self.next.kind != "(":
                return Literal("null", None, name.pos)
        return self._arguments(text, None) if self.next.kind == "(" else Ident(text, name.pos)

    def _list(self) -> Expr:
        opened = self.take()
        elements: list[Expr] = []
        optional: list[int] = []
        self.require(STARTS | {"]", ",", "?"})
        while self.next.kind not in ("]", ","):
            if self.accept("?"):
                optional.append(len(elements))
            elements.append(self.within("]", self._expr))
            if not self._separated("]"):
                break
        self.accept(",")
        self.expect("]")
        return ListExpr(tuple(elements), tuple(optional), opened.pos)

    def _separated(self, closer: str) -> bool:
        """Whether a comma was read and another element follows."""
        self.require(frozenset((closer, ",")))
        return self.after_next() in STARTS | {"?"} and self.accept(",") is not None

    def _map(self) -> Expr:
        opened = self.take()
        entries: list[Entry] = []
        self.require(STARTS | {"}", ",", "?"})
        while self.next.kind not in ("}", ","):
            optional = self.accept("?") is not None
            key = self.within("}", self._expr)
            self.expect(":")
            entries.append(Entry(key, self.within("}", self._expr), optional))
            if not self._separated("}"):
                break
        self.accept(",")
        self.expect("}")
        return MapExpr(tuple(entries), opened.pos)

    def _struct(self, name: str) -> Expr:
        opened = self.take()
        fields: list[tuple[str, Expr]] = []
        optional: list[int] = []
        colons: list[int] = []
        starts = frozenset(("?", "ident", "escaped"))
        self.require(starts | {"}", ","})
        while self.next.kind not in ("}", ","):
            if self.accept("?"):
                optional.append(len(fields))
            field = self.take()
            if field.kind == "escaped":
                self.issues.append(Issue(field.pos, "unsupported syntax: '`'"))
            colons.append(self.next.pos)
            self.expect(":")
            fields.append((field.text, self.within("}", self._expr)))
            self.require(frozenset(("}", ",")))
            if self.after_next() not in starts or not self.accept(","):
                break
        self.accept(",")
        self.expect("}")
        return StructExpr(name, tuple(fields), opened.pos, tuple(optional), tuple(colons))
