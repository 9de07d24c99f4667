"""Finding a catalog entry by any common spelling of its name, and the closest ones when there is none."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher

_SEPARATORS = re.compile(r"[\W_]+")
_LOOSE_HYPHEN = re.compile(r"(?<!\d)-|-(?!\d)")
_PARENTHESES = re.compile(r"\([^)]*\)")
_MEMORY_SIZE = re.compile(r"\s\d+\s?GB\b.*$")
_LONGEST = 120
_SHORTLIST = 24
_FLOOR = 0.3


def key(name: str) -> str:
    """One spelling for many: case, blanks, dots, underscores and hyphens do not matter.

    Only between two digits a separator stays, so that `qwen3-8b` and `qwen3.8-b` differ from `qwen38b`.
    """
    folded = unicodedata.normalize("NFKC", name[:_LONGEST]).casefold()[:_LONGEST]  # one may become eighteen
    return _LOOSE_HYPHEN.sub("", _SEPARATORS.sub("-", folded).strip("-"))


def spellings(name: str) -> tuple[str, ...]:
    """A display name, and the same without parentheses or memory size: `H100 80GB SXM` is also `H100`."""
    return (name, _PARENTHESES.sub("", name), _MEMORY_SIZE.sub("", name))


def _pairs(text: str) -> frozenset[str]:
    return frozenset(text[i : i + 2] for i in range(len(text) - 1)) or frozenset({text})


class Names:
    """An index from keys to ids, built once.

    A key that two entries share belongs to neither: it is not matched, but both are suggested.
    """

    def __init__(self, names: Mapping[str, Iterable[str]]) -> None:
        """Index `names`: id -> every name that the entry answers to beside its id."""
        owners: dict[str, set[str]] = {}
        for identifier, others in names.items():
            for name in others:
                owners.setdefault(key(name), set()).add(identifier)
        # An id is always its own, whatever else claims the same spelling.
        self._ids = {key(identifier): identifier for identifier in names}
        self._owners = owners | {name: {identifier} for name, identifier in self._ids.items()}
        self._pairs = [(name, _pairs(name)) for name in sorted(self._owners)]

    def find(self, name: str) -> str | None:
        """The id that answers to `name`, None when none or more than one does."""
        owners = self._owners.get(key(name), set())
        return next(iter(owners)) if len(owners) == 1 else None

    def suggest(self, name: str, limit: int = 5) -> tuple[str, ...]:
        """Up to `limit` ids, closest first: all owners of an ambiguous name, then similar names.

        Letter pairs give a shortlist, because comparing every name in full would make a wrong name costly.
        """
        wanted = key(name)
        scores = dict.fromkeys(sorted(self._owners.get(wanted, ())), 1.0)
        for candidate in self._shortlist(wanted):
            score = SequenceMatcher(None, wanted, candidate, autojunk=False).ratio()
            # A name that starts as asked is meant more often than one that merely shares letters.
            score += 0.2 if candidate.startswith(wanted) and wanted else 0.0
            for identifier in sorted(self._owners[candidate]):
                scores[identifier] = max(scores.get(identifier, 0.0), score)
        ranked = sorted(scores, key=lambda identifier: (-scores[identifier], identifier))
        return tuple(identifier for identifier in ranked if scores[identifier] >= _FLOOR)[:limit]

    def ambiguous(self) -> dict[str, tuple[str, ...]]:
        """Keys that more than one entry claims, with their ids."""
        return {name: tuple(sorted(ids)) for name, ids in sorted(self._owners.items()) if len(ids) > 1}

    def _shortlist(self, wanted: str) -> list[str]:
        asked = _pairs(wanted)
        scored = ((2 * len(asked & pairs) / (len(asked) + len(pairs)), name) for name, pairs in self._pairs)
        best = sorted((entry for entry in scored if entry[0] > 0), key=lambda entry: (-entry[0], entry[1]))
        return [name for _, name in best[:_SHORTLIST]]
