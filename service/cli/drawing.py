"""Markdown on a terminal, its tables so that no figure is cut."""

import textwrap
from typing import ClassVar

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown, MarkdownElement, TableElement
from rich.table import Column, Table
from rich.text import Text


class _Figures(TableElement):
    """A table whose numbers stay whole, and whose words go on in the next line where they are too long."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for drawn in super().__rich_console__(console, options):
            if isinstance(drawn, Table):
                for column in drawn.columns:
                    column.overflow = "fold"
                    if _is_of_numbers(column):
                        column.no_wrap = True
                        column.header = _wrapped(column)
            yield drawn


class Drawn(Markdown):
    """A report as Markdown, drawn for a terminal."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {**Markdown.elements, "table_open": _Figures}


def _is_of_numbers(column: Column) -> bool:
    """Markdown sets numbers at the right."""
    return any(isinstance(cell, Text) and cell.justify == "right" for cell in column.cells)


def _wrapped(column: Column) -> Text:
    """The heading in lines no wider than the numbers below it, where its words allow."""
    heading = Text(str(column.header), style="markdown.table.header", justify="right")
    widest = max([cell_len(str(cell)) for cell in column.cells], default=0)
    lines = textwrap.wrap(heading.plain, max(widest, 1), break_long_words=False)
    heading.plain = "\n".join(lines)
    return heading
