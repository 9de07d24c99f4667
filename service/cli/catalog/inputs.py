"""What `sizing catalog add` is given: files, and names that the files may hold already."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from service.catalog.authoring import usual_id
from service.catalog.fields import is_id
from service.inspection import total_size

INDEX = "model.safetensors.index.json"
_MOST_BYTES = 64 * 2**20  # the index of the largest checkpoints has a tenth of it


def json_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    if path.stat().st_size > _MOST_BYTES:
        raise click.ClickException(f"{path}: is larger than {_MOST_BYTES} bytes.")
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise click.ClickException(f"{path}: is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise click.ClickException(f"{path}: is not a JSON object.")
    return found


def repository_name(given: str | None, config: Mapping[str, Any]) -> str:
    """owner/name, as given or as the config says it."""
    found = given or config.get("_name_or_path")
    if not isinstance(found, str) or found.count("/") != 1 or not all(found.split("/")):
        raise click.ClickException("Name the repository with --repository owner/name.")
    return found


def model_id(given: str | None, repository: str) -> str:
    """The id as given, or after the repository."""
    try:
        found = given or usual_id(repository)
    except ValueError:
        raise click.ClickException("Name the model with --id.") from None
    if not is_id(found):
        raise click.ClickException(f"--id: {found!r} is not lower-case letters, digits, '.', '_' and '-'.")
    return found


def index_bytes(path: Path, *, required: bool) -> int | None:
    """Bytes of all tensors by the index; None where there is none."""
    if not required and not path.is_file():
        return None
    size = total_size(json_object(path))
    if size is None:
        raise click.ClickException(f"{path}: metadata.total_size is missing.")
    return size
