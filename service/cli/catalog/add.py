"""`sizing catalog add`: a model of your own from its published config.json."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.table import Table

from service.api.documents.notes import told
from service.api.posted import known
from service.catalog import Catalog
from service.catalog.authoring import Described, model_facts, written
from service.catalog.loader import FACT_FILES, build_catalog
from service.catalog.operator_files import MODELS, read_operator_files
from service.catalog.overlay import overlay
from service.catalog.yaml_files import read_files
from service.cli.catalog.inputs import INDEX, index_bytes, json_object, model_id, repository_name
from service.cli.console import console
from service.cli.environment import settings
from service.core.catalogued import Model
from service.core.posted import Stated, build_model
from service.core.remarks import remarks_of
from service.errors import CatalogError, UnsupportedArchitecture
from service.i18n import voice
from service.render.amounts import amount

_SAME, _OPERATOR = "config_recognised", "_by_operator"


class Folders(NamedTuple):
    """Where shipped facts are, and where the operator's are or will be."""

    shipped: Path
    own: Path


@click.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--id", "identifier", help="Name in addresses and of the file; default from the repository.")
@click.option("--name", help="Name for people; default that of the repository.")
@click.option("--repository", help="owner/name on Hugging Face; default as the config says it.")
@click.option("--license", "license_", help="License; without it, it is not known.")
@click.option(
    "--index",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help=f"The checkpoint's {INDEX}; default the one beside the config.",
)
@click.option("--to", type=click.Path(file_okay=False, path_type=Path), help="Folder; default CATALOG_PATH.")
@click.option("--force", is_flag=True, help="Replace a file, or a model of the shipped catalog.")
def command(
    config: Path,
    identifier: str | None,
    name: str | None,
    repository: str | None,
    license_: str | None,
    index: Path | None,
    to: Path | None,
    force: bool,
) -> None:
    """Write the model file of the config.json CONFIG, computed and checked as the server does.

    The file is written once all facts load with it.
    """
    folders = _folders(to)
    published = json_object(config)
    repository = repository_name(repository, published)
    identifier = model_id(identifier, repository)
    file = f"{MODELS}/{identifier}.yaml"
    before = _catalog(folders, {file: None})
    _may_write(file, identifier, folders.own, before, force)
    size = index_bytes(index or config.parent / INDEX, required=index is not None)
    model = _described(published, before, size)
    remarks, today = _remarks(model), datetime.now(UTC).date().isoformat()
    name = name or repository.rpartition("/")[2]
    facts = model_facts(
        model, published, Described(identifier, name, repository, license_, remarks, today), size
    )
    content = _content(facts)
    loaded = _catalog(folders, {file: content}).models[identifier]
    _write(folders.own / file, content)
    _tell(_table(loaded, facts, folders.own / file, _same_architecture(model)), remarks)


def _folders(to: Path | None) -> Folders:
    given = settings()
    own = to or given.catalog_path
    if own is None:
        raise click.ClickException("Name a folder with --to, or set CATALOG_PATH.")
    return Folders(given.config_path, own)


def _catalog(folders: Folders, changed: Mapping[str, bytes | None]) -> Catalog:
    """All facts, with files of the operator's folder as they would be; None for one that is left out."""
    try:
        files = read_operator_files(folders.own) if folders.own.is_dir() else {}
        will_be = {name: content for name, content in {**files, **changed}.items() if content is not None}
        return build_catalog(read_files(folders.shipped, FACT_FILES), overlay(will_be, str(folders.own)))
    except CatalogError as error:
        raise click.ClickException(str(error)) from None


def _described(config: Mapping[str, Any], catalog: Catalog, size: int | None) -> Model:
    try:
        return build_model(config, Stated(weight_bytes=size), known(catalog))
    except UnsupportedArchitecture as error:
        wrong = ", ".join((*error.missing, *error.excessive)) or "its structure"
        raise click.ClickException(f"{error.architecture or 'The config'} cannot be read: {wrong}.") from None


def _remarks(model: Model) -> list[str]:
    """What could not be recognised, or contradicts the index."""
    notes = [note for note in remarks_of(model) if note.code != _SAME and not note.code.endswith(_OPERATOR)]
    return [entry["message"] for entry in told(notes, voice("en"))]


def _same_architecture(model: Model) -> str:
    found = next((note.parameters["models"] for note in model.remarks if note.code == _SAME), ())
    return ", ".join(map(str, found)) if isinstance(found, list) else ""


def _may_write(file: str, identifier: str, folder: Path, catalog: Catalog, force: bool) -> None:
    if force:
        return
    if (folder / file).exists():
        raise click.ClickException(f"{folder / file} exists; --force replaces it.")
    if identifier in catalog.models:
        raise click.ClickException(f"{identifier} is a shipped model; --id names another, --force hides it.")


def _content(facts: Mapping[str, Any]) -> bytes:
    try:
        return written(facts)
    except ValueError as error:
        raise click.ClickException(f"{error}.") from None


def _write(path: Path, content: bytes) -> None:
    """At once: a server that reloads meanwhile sees the old file or the new one."""
    temporary = path.with_name(f"..{path.name}")  # a name that the server does not read
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}.") from None


def _table(model: Model, facts: Mapping[str, Any], path: Path, same: str) -> Table:
    """The facts, each with how it is known. same: names of models of the same architecture."""
    native, parameters = facts["native_weights"], facts["parameters"]
    exact = "exact" if parameters["exact"] else "computed"
    table = Table("Fact", "Value", "How it is known", title=str(path))
    table.add_row("Id", model.id, "")
    table.add_row("Class", model.architecture.engine_class or "unknown", "config")
    if same:
        table.add_row("Same architecture as", same, "catalog")
    table.add_row("Parameters", f"{parameters['total']:,}", exact)
    table.add_row("Active parameters", f"{parameters['active']:,}", "computed")
    table.add_row("Layers", str(len(model.architecture.layers)), "config")
    table.add_row("Context", f"{model.architecture.max_context_tokens:,}", "config")
    size = f"{native['format']}, {amount(native['bytes'])['gib']} GiB"
    table.add_row("Published weights", size, native["evidence"])
    engines = [engine for engine, row in facts["support"].items() if row["status"] == "yes"]
    table.add_row("Engines", ", ".join(engines) or "unknown", "models of the same class" if engines else "")
    unknown = [name for name in ("license", "released") if facts[name] is None]
    table.add_row("Not known", ", ".join([*unknown, "sizes of GGUF files"]), "")
    return table


def _tell(table: Table, remarks: list[str]) -> None:
    output = console()
    output.print(table)
    for remark in remarks:
        output.print(f"- {remark}")
    output.print("All facts load with it. A running server takes it up on SIGHUP.")
