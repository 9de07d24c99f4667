"""Folders of an operator's own facts, made of the example that docs/catalog.md shows."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODEL, GPUS, OFFERS = "models/support-8b.yaml", "gpus.yaml", "offers.yaml"


def example() -> dict[str, str]:
    """The files of the document, by the name that stands before each block."""
    text = (ROOT / "docs/catalog.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^`([\w./-]+\.yaml)`[^\n]*:\n\n```yaml\n(.*?)^```$", text, re.M | re.S))


def lay(folder: Path, files: dict[str, str] | None = None) -> Path:
    """Write files, by default the example's, into a folder."""
    for name, content in (example() if files is None else files).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder
