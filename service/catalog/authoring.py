"""A published config.json -> an operator's model file: what can be computed is, the rest stays unknown."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from service.catalog.fields import is_id
from service.catalog.yaml_files import read_yaml
from service.core.architecture.summary import active_parameters, total_parameters
from service.core.catalogued import Model
from service.core.evidence import Evidence
from service.core.weights.weigh import weigh_architecture

_HEAD = "# Fields under `config` carry the names of the published config.json.\n"
_STATED = ("yes", "no")
_WIDTH = 120


class Described(NamedTuple):
    """What a config.json does not say of its model; license: None when it is not known."""

    id: str
    name: str
    repository: str
    license: str | None
    remarks: Sequence[str]
    day: str


def usual_id(repository: str) -> str:
    """The id that a repository's name gives, in the letters that ids have.

    Raises ValueError when nothing is left of it.
    """
    found = re.sub(r"[^a-z0-9._]+", "-", repository.rpartition("/")[2].lower()).strip("-._")
    if not is_id(found):
        raise ValueError(repository)
    return found


def model_facts(
    model: Model, config: Mapping[str, Any], stated: Described, index_bytes: int | None
) -> dict[str, Any]:
    """The contents of a model file, in the order in which the shipped ones are written.

    model: as the parser read it. index_bytes: all tensors by the checkpoint's own index, None without one.
    Parameters are exact where the computed bytes of every tensor are those of the index.
    """
    architecture = model.architecture
    computed = weigh_architecture(architecture, "native", mtp=True, vision=True)
    said = (Evidence.CONFIG if computed.evidence is Evidence.CONFIG else Evidence.ESTIMATE).value
    native = {"format": architecture.native.name, "bytes": computed.total_bytes, "evidence": said}
    if index_bytes is not None:
        native |= {"bytes": index_bytes, "evidence": Evidence.CHECKPOINT.value}
    facts = {
        "id": stated.id,
        "name": stated.name,
        "family": architecture.model_type or architecture.engine_class,
        "publisher": stated.repository.partition("/")[0],
        "hf_repo": stated.repository,
        "released": None,
        "license": stated.license,
        "aliases": [],
        "parameters": {
            "total": total_parameters(architecture),
            "active": active_parameters(architecture),
            "exact": index_bytes == computed.total_bytes,
        },
        "native_weights": native,
        "gguf_bytes": {},
        "support": _support(model),
        "evidence": "derived",
        "sources": _sources(stated, index_bytes),
        "notes": " ".join(stated.remarks),
        "checked": stated.day,
        "config": dict(config),
    }
    return {name: value for name, value in facts.items() if name != "notes" or value}


def written(facts: Mapping[str, Any]) -> bytes:
    """The file. Raises ValueError when it would not be read as what was written."""
    text = yaml.safe_dump(dict(facts), sort_keys=False, allow_unicode=True, width=_WIDTH)
    try:
        content = (_HEAD + text).encode()
    except UnicodeEncodeError as error:
        raise ValueError("the config holds half a character") from error
    if read_yaml(content, "config") != facts:
        raise ValueError("the config holds values that YAML cannot keep")
    return content


def _support(model: Model) -> dict[str, dict[str, str]]:
    """What is known of the class, said to be known of the class only."""
    note = f"as other models of the class {model.architecture.engine_class}"
    return {
        engine: {"status": found.status, **({"since": found.since} if found.since else {}), "note": note}
        for engine, found in model.support.items()
        if found.status in _STATED
    }


def _sources(stated: Described, index_bytes: int | None) -> list[str]:
    found = [f"{stated.repository}, config.json as given; parameters and sizes computed from it"]
    if index_bytes is not None:
        found.append(f"{stated.repository}, model.safetensors.index.json: metadata.total_size")
    return found
