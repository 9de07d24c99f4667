"""Keep the message catalogs complete: `python -m service.i18n.catalogs update|check`.

The source text is English and is the message id. `update` extracts every message and brings all catalogs up
to date; `check` fails when that would change a file, or when a translation is missing or does not take its
values.
"""

import re
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.pofile import read_po, write_po

from service.i18n.languages import DEFAULT, LANGUAGES, Language
from service.i18n.voices import TRANSLATIONS, catalog_path

SOURCES = Path(__file__).parents[1]
KEYWORDS = {
    "mark": None,
    "_": None,
    "text": None,
    "mark_plural": (1, 2),
    "plural": (1, 2),
    "ngettext": (1, 2),
}
_HEADER = "# Messages of llm-sizing. The English source text is the message id."
_PLACEHOLDER = re.compile(r"%\((\w+)\)[a-z]")
_STRAY_PERCENT = re.compile(r"%(?!\(\w+\)s|%)")
_VOLATILE = (b'"POT-Creation-Date', b'"PO-Revision-Date', b'"Generated-By', b'"Last-Translator')


def template(directory: Path = TRANSLATIONS) -> Catalog:
    """Every message of the code and the templates, as `babel.cfg` names their places."""
    with (directory / "babel.cfg").open(encoding="utf-8") as source:
        methods, options = parse_mapping_cfg(source)  # type: ignore[no-untyped-call]
    catalog = Catalog(project="llm-sizing", charset="utf-8", fuzzy=False, header_comment=_HEADER)
    found = extract_from_dir(SOURCES, methods, options, keywords=KEYWORDS)
    for _file, _line, message, comments, context in found:
        catalog.add(message, None, [], auto_comments=comments, context=context)
    return catalog


def updated(language: Language, messages: Catalog, directory: Path = TRANSLATIONS) -> Catalog:
    """The language's catalog with exactly the template's messages; English fills itself from the source."""
    path = catalog_path(language, directory)
    catalog = Catalog(locale=language.locale, project="llm-sizing", fuzzy=False)
    if path.exists():
        with path.open("rb") as source:
            catalog = read_po(source, locale=language.locale, abort_invalid=True)
    catalog.update(messages, no_fuzzy_matching=True, update_header_comment=True)
    catalog.obsolete.clear()
    catalog.fuzzy = False
    if language.tag == DEFAULT:
        for message in catalog:
            if message.id and not _texts(message):
                message.string = message.id
    return catalog


def written(catalog: Catalog) -> bytes:
    """The catalog as a file: sorted, without dates and line numbers, so that only messages change it."""
    target = BytesIO()
    write_po(target, catalog, no_location=True, sort_output=True, ignore_obsolete=True, width=110)
    lines = target.getvalue().splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith(_VOLATILE))


def files(directory: Path = TRANSLATIONS) -> Iterator[tuple[Path, bytes]]:
    """Each catalog file with what it should hold."""
    messages = template(directory)
    yield directory / "messages.pot", written(messages)
    for language in LANGUAGES.values():
        yield catalog_path(language, directory), written(updated(language, messages, directory))


def faults(catalog: Catalog) -> Iterator[str]:
    """What is wrong with the translations of a catalog."""
    for message in catalog:
        if not message.id:
            continue
        texts = _texts(message)
        forms = catalog.num_plurals if message.pluralizable else 1
        if message.fuzzy or len(texts) != forms:
            yield f"{message.id!r}: not translated, or not in all {forms} plural forms"
        for text in texts:
            yield from _placeholder_faults(message, text)


def _texts(message: Message) -> list[str]:
    strings = message.string if isinstance(message.string, list | tuple) else [message.string]
    return [text for text in strings if text]


def _placeholder_faults(message: Message, text: str) -> Iterator[str]:
    singular, *plural = message.id if isinstance(message.id, list | tuple) else [message.id]
    wanted = {name for source in (plural or [singular]) for name in _PLACEHOLDER.findall(source)}
    named = set(_PLACEHOLDER.findall(text))
    # The form for one thing may leave the number out: "one GPU".
    if named != wanted and not (plural and named | {"n"} == wanted):
        yield f"{message.id!r}: placeholders {sorted(named)} instead of {sorted(wanted)}"
    if named and _STRAY_PERCENT.search(text.replace("%%", "")):
        yield f"{message.id!r}: a lone % in {text!r}"


def update(directory: Path = TRANSLATIONS) -> int:
    """Write every catalog anew; the number of catalogs that changed."""
    changed = 0
    for path, content in files(directory):
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            changed += 1
    return changed


def check(directory: Path = TRANSLATIONS) -> list[str]:
    """Everything that is outdated, missing or wrong, one line each."""
    problems = []
    for path, content in files(directory):
        name = path.relative_to(directory)
        if not path.exists() or path.read_bytes() != content:
            problems.append(f"{name}: not up to date; run `make i18n`")
    for language in LANGUAGES.values():
        path = catalog_path(language, directory)
        if path.exists():
            with path.open("rb") as source:
                catalog = read_po(source, locale=language.locale, abort_invalid=True)
            problems += [f"{path.relative_to(directory)}: {fault}" for fault in faults(catalog)]
    return problems


def main(arguments: list[str]) -> int:
    """Run `update` or `check`; the exit status."""
    if arguments == ["update"]:
        sys.stdout.write(f"{update()} catalogs changed\n")
        return 0
    if arguments == ["check"]:
        problems = check()
        sys.stdout.write("".join(f"{problem}\n" for problem in problems))
        return 1 if problems else 0
    sys.stderr.write("usage: python -m service.i18n.catalogs update|check\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
