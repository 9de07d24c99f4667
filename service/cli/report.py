"""`sizing MODEL GPU`: the report of the API on a terminal, one more of its clients."""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import click
from flask.testing import FlaskClient
from rich.console import Console
from werkzeug.test import TestResponse

from service.api.accept import JSON, MARKDOWN
from service.api.schemas import SCENARIO
from service.app import create_app
from service.cli.drawing import Drawn
from service.cli.environment import settings
from service.core.sizing import Verdict
from service.errors import CatalogError
from service.logs import configure_logs

# Verdict -> exit status; a model or a GPU alone has none and ends with 0.
_STATUS = {Verdict.FITS: 0, Verdict.TIGHT: 0, Verdict.DOES_NOT_FIT: 1, Verdict.UNSUPPORTED: 1}
_NOT_COMPUTED = 2
_ELSEWHERE = {"model", "gpu", "explain"}  # arguments, and a parameter of another resource
# POSIX: the first that is set decides the language of messages.
_LOCALES = ("LC_ALL", "LC_MESSAGES", "LANG")


class _NotComputed(click.ClickException):
    exit_code = _NOT_COMPUTED


def _parameters(command: Callable[..., None]) -> Callable[..., None]:
    """One option for each other parameter of the scenario, `--gpu-count` for `gpu_count`."""
    for name, parameter in reversed(SCENARIO.items()):
        if name not in _ELSEWHERE:
            option = click.option(f"--{name.replace('_', '-')}", name, help=parameter.metadata["description"])
            command = option(command)
    return command


@click.command()
@click.argument("model")
@click.argument("gpu", required=False)
@click.option("--section", "sections", multiple=True, help="Only this section; may be given several times.")
@click.option("--json", "as_json", is_flag=True, help="The numbers as JSON instead of Markdown.")
@_parameters
def command(model: str, gpu: str | None, sections: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Print the report about MODEL on GPU, or about MODEL alone.

    The exit status is 0 if it fits, even tightly; 1 if it does not; 2 if that could not be computed.
    """
    question = {"model": model, "gpu": gpu, **given}
    question = {name: value for name, value in question.items() if value is not None}
    client = _client()
    accept = JSON if as_json else MARKDOWN
    paths = [f"/v1/fragments/{name}" for name in sections] or ["/v1/report"]
    status = 0 if gpu is None else _status(_ask(client, "/v1/sizing", question, JSON))
    texts = [_ask(client, path, question, accept).get_data(as_text=True) for path in paths]
    if as_json:
        click.echo("\n".join(texts))
    else:
        _show("\n".join(texts))
    sys.exit(status)


def _client() -> FlaskClient:
    """A client of the service of this environment; what is wrong with it is no answer to the question."""
    configure_logs("ERROR")
    try:
        return create_app(settings()).test_client()
    except (click.ClickException, CatalogError) as error:
        raise _NotComputed(str(error)) from None


def _ask(client: FlaskClient, path: str, question: Mapping[str, str], accept: str) -> TestResponse:
    headers = {"Accept": accept, "Accept-Language": _language()}
    answer = client.get(path, query_string=question, headers=headers)
    if answer.status_code != 200:
        _give_up(answer.json or {})
    return answer


def _give_up(problem: Mapping[str, Any]) -> NoReturn:
    """Say what is wrong, each parameter with its reason, in the language of the answer."""
    said = [problem.get("title", ""), problem.get("detail", "")]
    said += [error["message"] for error in problem.get("errors", ())]
    click.echo("\n".join(line for line in said if line), err=True)
    sys.exit(_NOT_COMPUTED)


def _status(answer: TestResponse) -> int:
    assert answer.json is not None
    return _STATUS.get(answer.json["fit"]["verdict"], _NOT_COMPUTED)


def _language() -> str:
    """The language of the terminal, `de-DE` for `de_DE.UTF-8`; the option `--lang` beats it."""
    locale = next((os.environ[name] for name in _LOCALES if os.environ.get(name)), "")
    return locale.partition(".")[0].partition("@")[0].replace("_", "-")


def _show(markdown: str) -> None:
    """Markdown drawn on a terminal, as it is in a file or pipe."""
    if sys.stdout.isatty():
        Console().print(Drawn(markdown))
    else:
        click.echo(markdown)
