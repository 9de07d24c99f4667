"""The fragments that are kept as golden files; `python -m tests.contract.fragment_cases` writes them anew.

A changed file is reviewed like code: the figures it must hold are asserted beside it from published numbers.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from service.catalog import Catalog, load_catalog
from service.core.request import Request
from service.core.resolve import resolve
from service.core.size import size
from service.core.sizing import Sizing
from service.i18n import LANGUAGES
from service.render.fragments import render

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
SECTIONS = (
    "summary",
    "scenario",
    "memory",
    "speed",
    "context",
    "quantizations",
    "derivation",
    "cloud",
    "finetuning",
    "commands",
    "diagnosis",
    "faq",
    "about",
    "architecture",
    "memory-tiers",
    "tips",
    "recommendations",
    "estimates",
)
MEDIA_TYPES = {"html": "text/html", "md": "text/markdown"}
SCENARIOS: Mapping[str, Mapping[str, Any]] = {
    "kimi": {
        "model": "kimi-k3.1-pro",
        "gpu": "h20-141gb",
        "quantization": "q4_k_m",
        "context_tokens": 8192,
    },
    "llama": {
        "model": "llama-3.1-8b-instruct",
        "gpu": "h100-80gb-sxm",
        "engine": "vllm",
        "quantization": "bf16",
        "context_tokens": 8192,
        "concurrent_sequences": 4,
        "gpu_count": 2,
    },
}


@cache
def facts() -> Catalog:
    """The service's own catalog."""
    return load_catalog(ROOT / "config")


@cache
def sized(scenario: str) -> Sizing:
    """The answer to one of the scenarios."""
    parameters = dict(SCENARIOS[scenario])
    model, gpu = facts().models[parameters.pop("model")], facts().gpus[parameters.pop("gpu")]
    return size(resolve(Request(model=model, gpu=gpu, **parameters)))


def fragment(scenario: str, section: str, language: str, media_type: str) -> str:
    """One fragment as text."""
    return render(section, sized(scenario), facts(), language, media_type).decode()


def cases() -> Iterator[tuple[Path, str, str, str, str]]:
    """Each golden file with its scenario, section, language and media type."""
    for scenario in SCENARIOS:
        for section in SECTIONS:
            for language in LANGUAGES:
                for suffix, media_type in MEDIA_TYPES.items():
                    path = GOLDEN / f"{scenario}.{section}.{language}.{suffix}"
                    yield path, scenario, section, language, media_type


def main() -> None:
    """Write every golden file."""
    GOLDEN.mkdir(exist_ok=True)
    for path, *case in cases():
        path.write_text(fragment(*case), encoding="utf-8")


if __name__ == "__main__":
    main()
