"""Text as Markdown: what a value contains is shown, never interpreted."""

import re
from collections.abc import Mapping, Sequence

from markupsafe import Markup

# Characters that start Markdown or HTML anywhere in a line (CommonMark 0.31, GFM tables and strikethrough).
_ANYWHERE = re.compile(r"([\\`*_\[\]<>|~&#!$])")
# A list, a rule or an underline, but not a negative number; a numbered list.
_AT_START = re.compile(r"^([-+=](?![\d.,])|\d+(?=[.)](?:\s|$)))")
_SPACES = re.compile(r"\s+")
# Controls, and characters that turn the direction of the text around them (Unicode UAX #9).
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)
_NO_BREAK = "\u00a0\u202f"


def escape(value: object) -> Markup:
    """A value on one line with everything escaped that Markdown would read; Markup stays as it is."""
    if isinstance(value, Markup):
        return value
    escaped = _ANYWHERE.sub(r"\\\1", _one_line(str(value)))
    return Markup(_AT_START.sub(_escape_start, escaped))  # noqa: S704 - escaped just above


def printable(text: str) -> str:
    """The text without controls, which no markup may hold, and without changes of direction."""
    return (
        text if text.isprintable() else _UNPRINTABLE.sub("", text)
    )  # nearly all of it is, which is soon seen


def code(value: object) -> Markup:
    """A value as a code span, fenced by more backticks than it contains in a row."""
    text = _one_line(str(value)).replace("|", "\\|")
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return Markup(f"{fence}{padding}{text}{padding}{fence}")  # noqa: S704 - a code span is not interpreted


def fenced(commands: Sequence[Mapping[str, str]]) -> Markup:
    """Commands as one code block, fenced by more backticks than it contains in a row."""
    text = printable("\n\n".join(command["text"] for command in commands))
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markup(f"{fence}sh\n{text}\n{fence}")  # noqa: S704 - a code block is not interpreted


def _one_line(text: str) -> str:
    spaced = _SPACES.sub(lambda match: match[0] if match[0] in _NO_BREAK else " ", text)
    return printable(spaced).strip(" ")


def _escape_start(match: re.Match[str]) -> str:
    return f"\\{match[1]}" if not match[1].isdigit() else match[1] + "\\"
