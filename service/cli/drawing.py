"""Markdown on a terminal, its tables so that no figure is cut."""

import re
import textwrap
from collections.abc import Iterator
from typing import ClassVar

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import Markdown, MarkdownElement, TableElement
from rich.table import Column, Table
from rich.text import Text

_FOLDED = 12  # a column of words is not narrower than this, where it has such words
_GAP = 2  # between columns, as the table is drawn
# What stands in brackets behind a figure goes on in the next line where the table is too wide.
_REMARK = re.compile(r" (?=\()|(?=（)")


class _Figures(TableElement):
    """A table whose numbers stay whole, and whose words go on in the next line where they are too long.

    Where the window is too narrow for that, the rows stand below each other.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for drawn in super().__rich_console__(console, options):
            yield from _fitting(drawn, options.max_width) if isinstance(drawn, Table) else [drawn]


class Drawn(Markdown):
    """A report as Markdown, drawn for a terminal."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "table_open": _Figures}


def _fitting(table: Table, width: int) -> Iterator[RenderableType]:
    """The table as wide as it may be, with remarks below their figures, or as a list of its rows."""
    if _least(table) > width:
        for column in filter(_is_of_numbers, table.columns):
            for cell in _texts(column):
                cell.plain = _REMARK.sub("\n", cell.plain)
    if _least(table) > width:
        yield from _rows(table)
        return
    for column in table.columns:
        column.overflow = "fold"
        if _is_of_numbers(column):
            column.no_wrap = True
            column.header = _wrapped(column)
        else:
            column.min_width = _least_of(column)
    yield table


def _rows(table: Table) -> Iterator[RenderableType]:
    """Each row below the one before: its first cell, then the others with their headings."""
    headings = [Text(str(column.header), style="markdown.table.header") for column in table.columns[1:]]
    first, *others = (_texts(column) for column in table.columns)
    for name, *cells in zip(first, *others, strict=True):
        row = Table.grid(padding=(0, _GAP))
        row.add_column()
        row.add_column(overflow="fold")
        row.add_row(name, "")
        for heading, cell in zip(headings, cells, strict=True):
            row.add_row(heading, Text(cell.plain.replace("\n（", "（").replace("\n", " "), justify="left"))
        yield row
        yield Text()


def _least(table: Table) -> int:
    """The width below which a figure is cut, or a word is broken that need not be."""
    return sum(_least_of(column) + _GAP for column in table.columns)


def _least_of(column: Column) -> int:
    if _is_of_numbers(column):
        return _widest(column)
    words = (word for text in (column.header, *_texts(column)) for word in str(text).split())
    return min(_FOLDED, max(map(cell_len, words), default=0))


def _texts(column: Column) -> list[Text]:
    return [cell if isinstance(cell, Text) else Text(str(cell)) for cell in column.cells]


def _is_of_numbers(column: Column) -> bool:
    """Markdown sets numbers at the right."""
    return any(isinstance(cell, Text) and cell.justify == "right" for cell in column.cells)


def _widest(column: Column) -> int:
    return max((cell_len(line) for cell in _texts(column) for line in cell.plain.split("\n")), default=0)


def _wrapped(column: Column) -> Text:
    """The heading in lines no wider than the numbers below it, where its words allow."""
    heading = Text(str(column.header), style="markdown.table.header", justify="right")
    lines = textwrap.wrap(heading.plain, max(_widest(column), 1), break_long_words=False)
    heading.plain = "\n".join(lines)
    return heading
