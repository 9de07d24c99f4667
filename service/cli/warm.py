"""`sizing warm`: answers for Redis, ahead of the visitors."""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from http import HTTPStatus

import click
from rich.console import Console
from rich.progress import track

from service.api.accept import HTML, JSON
from service.api.warming import Address, ask, fragments
from service.app import create_app
from service.cache import ByteCache
from service.catalog import Catalog
from service.cli.environment import settings
from service.errors import UnknownName
from service.i18n import LANGUAGES
from service.logs import configure_logs


def _names(command: Callable[..., None]) -> Callable[..., None]:
    """The options that choose what to warm; each may be given several times."""
    chosen = {
        "model": "Only this model; default all.",
        "gpu": "Only this accelerator; default all.",
        "section": "Only this section; default summary and memory.",
        "language": "Only this language; default all.",
    }
    for name, meaning in reversed(chosen.items()):
        command = click.option(f"--{name}", f"{name}s", multiple=True, help=meaning)(command)
    return command


@click.command()
@_names
@click.option("--json", "as_json", is_flag=True, help="The fragments' numbers as JSON instead of HTML.")
def command(
    models: tuple[str, ...],
    gpus: tuple[str, ...],
    sections: tuple[str, ...],
    languages: tuple[str, ...],
    as_json: bool,
) -> None:
    """Put the fragments of many scenarios into Redis; run again, it goes on where it stopped."""
    configure_logs("ERROR")
    given = settings()
    if given.redis_url is None:
        raise click.ClickException("REDIS_URL is not set: there is no cache to fill.")
    # Without memory every address is looked up in Redis itself, and nothing grows.
    parts = create_app(replace(given, cache_memory_bytes=0)).extensions["sizing"]
    if not parts.shared.is_up():
        raise click.ClickException("Redis does not answer.")
    catalog: Catalog = parts.catalog
    try:
        addresses = list(
            fragments(
                [catalog.find_model(name).id for name in models] or catalog.models,
                [catalog.find_gpu(name).id for name in gpus] or catalog.gpus,
                sections or ("summary", "memory"),
                languages or LANGUAGES,
                (JSON if as_json else HTML,),
            )
        )
    except UnknownName as error:
        raise click.ClickException(f"{error.name} is not known; similar: {error.suggestions}") from None
    _fill(parts.cached, addresses)


def _fill(cached: ByteCache, addresses: Sequence[Address]) -> None:
    outcomes: Counter[str] = Counter()
    progress = Console(stderr=True, markup=False, highlight=False, emoji=False)
    for address in track(addresses, "warming", console=progress, transient=True):
        status, source = ask(cached, address)
        outcomes[source if status == HTTPStatus.OK else "failed"] += 1
    click.echo(
        f"{outcomes['miss']} computed, {outcomes['hit-redis']} already there, {outcomes['failed']} failed"
    )
    if outcomes["failed"]:
        sys.exit(1)
