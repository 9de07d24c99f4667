"""A shell command as data: quoted where it is written, whatever a name contains."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from shlex import quote

from service.core.notes import Note

_CONTINUED = " \\\n  "


@dataclass(frozen=True, slots=True)
class Command:
    """One command for a POSIX shell.

    program: its first words. options: flags, each with its values. environment: variables set for it alone.
    writes: lines of a file that the command needs, by the file's name.
    """

    program: tuple[str, ...]
    options: tuple[tuple[str, ...], ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    writes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def words(self) -> tuple[str, ...]:
        """The words that the program receives, unquoted."""
        return (*self.program, *(word for option in self.options for word in option))

    @property
    def text(self) -> str:
        """The command as it is typed, one option a line."""
        files = [
            "\n".join([f"cat > {quote(name)} <<'EOF'", *lines, "EOF"]) for name, lines in self.writes.items()
        ]
        variables = [f"{name}={quote(value)}" for name, value in self.environment.items()]
        parts = [" ".join([*variables, *map(quote, self.program)])]
        parts += [" ".join(map(quote, option)) for option in self.options]
        return "\n".join([*files, _CONTINUED.join(parts)])


@dataclass(frozen=True, slots=True)
class Launch:
    """How an engine is started for a scenario.

    prepare: what makes the weights, where they are not published in the format. serve: what starts it.
    check: what measures the speed that was estimated, against the running server where it needs one.
    notes: what a reader must know before running it.
    """

    serve: tuple[Command, ...]
    check: Command | None = None
    prepare: tuple[Command, ...] = ()
    notes: tuple[Note, ...] = ()


def flag(name: str, value: object, *, when: bool = True) -> tuple[tuple[str, ...], ...]:
    """One option with its value, or none."""
    return ((name, str(value)),) if when else ()


def switch(name: str, *, when: bool) -> tuple[tuple[str, ...], ...]:
    """One option without a value, or none."""
    return ((name,),) if when else ()


def not_carried(engine: str, names: tuple[str, ...]) -> tuple[Note, ...]:
    """Parameters of the scenario that the command has no option for."""
    return (Note("command_without_parameters", {"engine": engine, "fields": list(names)}),) if names else ()
