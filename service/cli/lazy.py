"""A click group whose commands are imported when they are used: `serve` does not wait for the others."""

from collections.abc import Mapping
from importlib import import_module

import click

from service.errors import CatalogError


class LazyGroup(click.Group):
    """Commands by name; each is the `command` of the module of the same row.

    otherwise: the command that takes all words when the first of them is the name of none.
    """

    def __init__(
        self, name: str, modules: Mapping[str, str], help: str, otherwise: str | None = None
    ) -> None:
        super().__init__(name, help=help)
        self._modules = modules
        self._otherwise = otherwise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that these words name, with the words that are left for it."""
        if self._otherwise is not None and args[0] not in self.list_commands(ctx):
            args = [self._otherwise, *args]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a wrong fact file ends it with its place, as in the server."""
        try:
            return super().invoke(ctx)
        except CatalogError as error:
            raise click.ClickException(str(error)) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, sorted."""
        return sorted({*super().list_commands(ctx), *self._modules})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, None when there is none."""
        if cmd_name not in self._modules:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self._modules[cmd_name].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command
