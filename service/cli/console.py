"""Tables on a terminal, and whole lines in a file or pipe."""

import sys

from rich.console import Console

_COLUMNS = 200  # of output that nobody's window bounds


def console() -> Console:
    """Where commands print tables; facts are shown as they are, whatever brackets they hold."""
    width = None if sys.stdout.isatty() else _COLUMNS
    return Console(file=sys.stdout, width=width, markup=False, highlight=False, emoji=False)
