"""Reading a YAML fact file strictly: no duplicate keys, no surprising types."""

from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from service.errors import CatalogError

if TYPE_CHECKING:
    _Base = yaml.SafeLoader
else:
    # libyaml reads all facts about eight times faster; the Python loader gives the same values without it.
    _Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_BOOL, _TIMESTAMP = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"


class StrictLoader(_Base):
    """YAML where `yes`, `no`, `on`, `off` and dates stay text, and a repeated key is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping whose keys are all different."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"repeated key {key.value!r}", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep)


StrictLoader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag != _TIMESTAMP and not (tag == _BOOL and first in "yYnNoO")
    ]
    for first, resolvers in _Base.yaml_implicit_resolvers.items()
}


def read_yaml(content: bytes, file: str) -> Any:
    """The data of one file; `file` names it in the CatalogError that bad YAML raises."""
    try:
        return yaml.load(content, Loader=StrictLoader)  # noqa: S506 - a SafeLoader without the surprises
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}" if mark else "file"
        raise CatalogError(file, place, getattr(error, "problem", None) or str(error)) from error
    except (ValueError, KeyError, AttributeError, RecursionError) as error:
        # The library's constructors stumble over values that are not what their tag says, such as `!!int x`.
        raise CatalogError(file, "file", f"holds a value that is not what its tag says: {error}") from error


def read_files(root: Path, patterns: tuple[str, ...]) -> dict[str, bytes]:
    """Contents of the files under `root` that match, keyed by relative path and sorted by it."""
    found = sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()})
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}
