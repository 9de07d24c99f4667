"""Report fragments: scenario -> data -> template, in every language and representation."""

from pathlib import Path

# The optional style of the fragments, for sites that embed them.
REPORT_CSS = Path(__file__).parent / "assets" / "report.css"
