"""The console script `sizing`: serve, size one scenario, fill Redis, print the version."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any

import click

from service.api.accept import HTML, JSON
from service.api.schemas import SCENARIO
from service.api.warming import Address, ask, fragments
from service.app import create_app
from service.cache import ByteCache
from service.catalog import Catalog
from service.errors import UnknownName
from service.i18n import LANGUAGES
from service.logs import configure_logs
from service.settings import InvalidSettings, Settings, read_settings
from service.version import VERSION

_ENTRY = "service.wsgi:app"


@click.group()
def main() -> None:
    """How much GPU memory an open-weight model needs, and whether it fits."""


@main.command()
def version() -> None:
    """Print the version."""
    click.echo(VERSION)


@main.command()
def serve() -> None:
    """Serve HTTP with gunicorn; the settings come from the environment."""
    configuration = _settings().config_path / "gunicorn.conf.py"
    command = [sys.executable, "-m", "gunicorn", "--config", str(configuration), _ENTRY]
    os.execv(sys.executable, command)  # noqa: S606 - no shell; the process becomes the server and gets its signals


@main.command()
def openapi() -> None:
    """Print the OpenAPI document."""
    configure_logs("ERROR")
    click.echo(create_app(_settings()).test_client().get("/openapi.json").get_data(as_text=True))


def _scenario_options(command: Callable[..., None]) -> Callable[..., None]:
    """One option for each parameter of the API, `--gpu-count` for `gpu_count`."""
    for name, parameter in reversed(SCENARIO.items()):
        option = click.option(f"--{name.replace('_', '-')}", name, help=parameter.metadata["description"])
        command = option(command)
    return command


@main.command()
@_scenario_options
def size(**given: Any) -> None:
    """Print the sizing of one scenario as JSON; a problem is printed too and ends with status 1."""
    configure_logs("ERROR")
    parameters = {name: value for name, value in given.items() if value is not None}
    # One more client of the API: the same parameters, the same answer, the same problems.
    answer = create_app(_settings()).test_client().get("/v1/sizing", query_string=parameters)
    click.echo(answer.get_data(as_text=True))
    if answer.status_code != 200:
        sys.exit(1)


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


@main.command()
@_names
@click.option("--json", "as_json", is_flag=True, help="The fragments' numbers as JSON instead of HTML.")
def warm(
    models: tuple[str, ...],
    gpus: tuple[str, ...],
    sections: tuple[str, ...],
    languages: tuple[str, ...],
    as_json: bool,
) -> None:
    """Put the fragments of many scenarios into Redis; run again, it goes on where it stopped."""
    configure_logs("ERROR")
    settings = _settings()
    if settings.redis_url is None:
        raise click.ClickException("REDIS_URL is not set: there is no cache to fill.")
    # Without memory every address is looked up in Redis itself, and nothing grows.
    parts = create_app(replace(settings, cache_memory_bytes=0)).extensions["sizing"]
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
    with click.progressbar(addresses, label="warming", show_pos=True) as bar:
        for address in bar:
            status, source = ask(cached, address)
            outcomes[source if status == HTTPStatus.OK else "failed"] += 1
    click.echo(
        f"{outcomes['miss']} computed, {outcomes['hit-redis']} already there, {outcomes['failed']} failed"
    )
    if outcomes["failed"]:
        sys.exit(1)


def _settings() -> Settings:
    try:
        return read_settings()
    except InvalidSettings as error:
        raise click.ClickException(str(error)) from None


if __name__ == "__main__":
    main()
