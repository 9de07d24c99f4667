"""Formulas that are text and value at once: arithmetic on them writes the formula down while it computes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from math import hypot, log2

from service.core.cost.money import rounded as to_cents

Number = int | float

_SUM, _QUOTIENT, _PRODUCT, _ATOM = range(4)


@dataclass(frozen=True, slots=True)
class Expression:
    """A value with the formula that gives it.

    symbolic: over the symbols of steps. substituted: the same with their values, Python arithmetic with
    `+ - * / //` and the functions ceil_div, pad, max, min, round, power, hypot, log2, digits (significant
    ones) and money. inputs: symbols in it, in their order.
    binding: how tightly its outermost operation binds, which decides about brackets.
    """

    value: Number
    symbolic: str
    substituted: str
    inputs: tuple[str, ...] = ()
    binding: int = _ATOM

    def __add__(self, other: "Operand") -> "Expression":
        right = lift(other)
        return _joined(self, "+", right, self.value + right.value, _SUM, right.binding < _SUM)

    def __sub__(self, other: "Operand") -> "Expression":
        right = lift(other)
        return _joined(self, "-", right, self.value - right.value, _SUM, right.binding == _SUM)

    def __mul__(self, other: "Operand") -> "Expression":
        right = lift(other)
        return _joined(self, "*", right, self.value * right.value, _PRODUCT, right.binding < _PRODUCT)

    def __floordiv__(self, other: "Operand") -> "Expression":
        right = lift(other)
        return _joined(self, "//", right, int(self.value // right.value), _QUOTIENT, right.binding < _ATOM)

    def __truediv__(self, other: "Operand") -> "Expression":
        right = lift(other)
        return _joined(self, "/", right, self.value / right.value, _QUOTIENT, right.binding < _ATOM)

    def __radd__(self, other: Number) -> "Expression":
        return lift(other) + self

    def __rsub__(self, other: Number) -> "Expression":
        return lift(other) - self

    def __rmul__(self, other: Number) -> "Expression":
        return lift(other) * self

    def __rtruediv__(self, other: Number) -> "Expression":
        return lift(other) / self


Operand = Expression | Number


def lift(operand: Operand) -> Expression:
    """A number as an expression that is just itself."""
    if isinstance(operand, Expression):
        return operand
    return Expression(operand, written(operand), written(operand))


def written(value: Number) -> str:
    """A value inside a formula; negative ones in brackets."""
    return f"({value!r})" if value < 0 else repr(value)


def named(symbol: str, value: Number) -> Expression:
    """The symbol of a step, standing for its value."""
    return Expression(value, symbol, written(value), (symbol,))


def add(operands: Iterable[Operand]) -> Expression:
    """The sum of any number of operands; 0 of none."""
    terms = [lift(operand) for operand in operands]
    return reduce(lambda left, right: left + right, terms) if terms else lift(0)


def ceil_div(numerator: Operand, denominator: Operand) -> Expression:
    """The smallest integer not below numerator / denominator."""
    return _called("ceil_div", lambda a, b: int(-(-a // b)), numerator, denominator)


def pad(value: Operand, multiple: Operand) -> Expression:
    """The smallest multiple not below the value."""
    return _called("pad", lambda a, b: int(-(-a // b)) * b, value, multiple)


def largest(*operands: Operand) -> Expression:
    """The largest operand; of one operand itself."""
    return lift(operands[0]) if len(operands) == 1 else _called("max", max, *operands)


def smallest(*operands: Operand) -> Expression:
    """The smallest operand; of one operand itself."""
    return lift(operands[0]) if len(operands) == 1 else _called("min", min, *operands)


def rounded(value: Operand, digits: int) -> Expression:
    """The value rounded to decimal places."""
    return _called("round", lambda a, b: round(a, int(b)), value, digits)


def power(base: Operand, exponent: Operand) -> Expression:
    """The base to a power."""
    return _called("power", lambda a, b: float(a) ** b, base, exponent)


def root_of_squares(*operands: Operand) -> Expression:
    """The root of the sum of squares."""
    return _called("hypot", hypot, *operands)


def binary_logarithm(value: Operand) -> Expression:
    """The logarithm to base 2."""
    return _called("log2", log2, value)


def significant(value: Operand, digits: int) -> Expression:
    """The value with so many significant digits."""
    return _called("digits", lambda a, b: float(f"{a:.{int(b)}g}"), value, digits)


def money(value: Operand) -> Expression:
    """An amount as it is printed: half to even, to the cent, below one to a hundredth of a cent.

    The decimal that twelve digits of the value stand for is rounded, since amounts are decimal.
    """
    return _called("money", lambda a: float(to_cents(Decimal(f"{a:.12g}"))), value)


def _joined(
    left: Expression, operator: str, right: Expression, value: Number, binding: int, bracketed: bool
) -> Expression:
    """Two expressions and an operator; the left one needs brackets only where it is a looser sum."""
    open_left = left.binding == _SUM and binding != _SUM
    return Expression(
        value,
        f"{_bracket(left.symbolic, open_left)} {operator} {_bracket(right.symbolic, bracketed)}",
        f"{_bracket(left.substituted, open_left)} {operator} {_bracket(right.substituted, bracketed)}",
        _merged(left, right),
        # A product that starts with a quotient is one: a // b * c.
        _QUOTIENT if binding == _PRODUCT and left.binding == _QUOTIENT else binding,
    )


def _called(name: str, function: Callable[..., Number], *operands: Operand) -> Expression:
    terms = [lift(operand) for operand in operands]
    return Expression(
        function(*(term.value for term in terms)),
        f"{name}({', '.join(term.symbolic for term in terms)})",
        f"{name}({', '.join(term.substituted for term in terms)})",
        _merged(*terms),
    )


def _bracket(text: str, bracketed: bool) -> str:
    return f"({text})" if bracketed else text


def _merged(*terms: Expression) -> tuple[str, ...]:
    return tuple(dict.fromkeys(symbol for term in terms for symbol in term.inputs))
